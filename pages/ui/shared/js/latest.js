// Streamlit hands each picture over once the script is there. Of two that waited for it, Chromium may let the later one
// through first, and the older one would then stay.

const newest = new WeakMap(); // by the element that is drawn in

// The same function, which leaves out what is older than what it was given last in the same place.
export const latest = (component) => (given) => {
  const { data, parentElement } = given;
  if (data.sent < newest.get(parentElement)) return;
  newest.set(parentElement, data.sent);
  component(given);
};
