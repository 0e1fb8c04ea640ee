// Linked views of one answer: numbers come as typed arrays, once for each score; selection and hover stay here.
// Texts come from models and users: they are only ever set as textContent, or drawn on a canvas.

function bytesOf(base64) {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index += 1) bytes[index] = binary.charCodeAt(index);
  return bytes.buffer;
}

function decode(base64) {
  return new Float32Array(bytesOf(base64));
}

// Weights come in steps of 1 / 65534; 65535 is an undefined one.
function decodeWeights(base64) {
  return Float32Array.from(new Uint16Array(bytesOf(base64)), (step) => (step === 65535 ? NaN : step / 65534));
}

function shown(value, places = 3) {
  if (Number.isNaN(value) || value === undefined) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const text = Math.abs(value).toFixed(places);
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}

function make(tag, className = "", text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
}

function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

// Of the finite ones; Math.max would take them as arguments, of which there can be too many.
function largest(values) {
  let most = -Infinity;
  for (const value of values) if (Number.isFinite(value) && value > most) most = value;
  return most;
}

function nearest(allowed, asked) {
  return allowed.reduce((best, value) => (Math.abs(value - asked) < Math.abs(best - asked) ? value : best));
}

// Calls `act` once, when nobody has asked again for so long: arrow keys held down are one change to the server.
function settle(act, milliseconds) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, milliseconds);
  };
}
