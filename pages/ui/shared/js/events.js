// How the components of the pages listen to what a user does.

const listeners = new WeakMap();

// Call `handler` on each of these events of a node, in place of what `on` was given for them before. What it returns is
// ignored: a function assigned to `onkeydown` cancels the key by returning false.
export function on(node, events, handler) {
  if (!listeners.has(node)) listeners.set(node, new Map());
  const known = listeners.get(node);
  for (const event of events.split(" ")) {
    node.removeEventListener(event, known.get(event));
    node.addEventListener(event, handler);
    known.set(event, handler);
  }
}
