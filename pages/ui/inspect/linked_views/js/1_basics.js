// Linked views of one answer: numbers arrive as typed arrays, once per score; selection and hover are handled here.
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

// Weights arrive in steps of 1 / 65534; 65535 means undefined.
function decodeWeights(base64) {
  return Float32Array.from(new Uint16Array(bytesOf(base64)), (step) => (step === 65535 ? NaN : step / 65534));
}

// As `amount` of rauq/labels.py: "< 0.01" where a number above zero would read as nothing at all.
function shown(value, places = 3) {
  if (Number.isNaN(value) || value === undefined) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const text = Math.abs(value).toFixed(places);
  if (value > 0 && Number(text) === 0) return `< ${(10 ** -places).toFixed(places)}`;
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

// Of the finite values; Math.max would take them as arguments, and there can be too many.
function largest(values) {
  let most = -Infinity;
  for (const value of values) if (Number.isFinite(value) && value > most) most = value;
  return most;
}

function nearest(allowed, asked) {
  return allowed.reduce((best, value) => (Math.abs(value - asked) < Math.abs(best - asked) ? value : best));
}

// Calls `act` once, after a pause in the calls: arrow keys held down are one change to the server.
function settle(act, milliseconds) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, milliseconds);
  };
}
