// Colours of the page and of the attention scale, for the current theme.

export function palette(element, scales) {
  const style = getComputedStyle(element);
  const of = (name) => style.getPropertyValue(name).trim();
  const background = of("--st-background-color") || "#ffffff";
  const dark = lightness(background) < 0.5;
  return {
    dark,
    background,
    text: of("--st-text-color") || "#1f2328",
    quiet: dark ? "#a2abb6" : "#5b646e",
    faint: dark ? "#5d6773" : "#b9c0c8",
    veil: "rgba(139, 149, 161, 0.26)",
    warm: "#e8650a",
    warmText: dark ? "#ff9a52" : "#b84a00",
    signal: dark ? "#d9853b" : "#e08a3c",
    blue: dark ? "#5aa9e0" : "#2a78b8",
    usual: dark ? "#3fc9b8" : "#0b7a75",
    other: dark ? "#ff7ab0" : "#c2185b",
    link: of("--st-link-color") || "#2457c5",
    font: style.fontFamily,
    scale: ramp(dark ? scales.dark : scales.light),
    diverging: ramp(dark ? ["#e07a1f", "#20252c", "#4aa3e0"] : ["#c2600a", "#f4f5f7", "#1b6ca8"]),
  };
}

function channels(colour) {
  const hex = colour.replace("#", "");
  const six = hex.length === 3 ? [...hex].map((digit) => digit + digit).join("") : hex;
  return [0, 2, 4].map((start) => parseInt(six.slice(start, start + 2), 16));
}

function lightness(colour) {
  const [red, green, blue] = channels(colour);
  return (0.299 * red + 0.587 * green + 0.114 * blue) / 255;
}

function ramp(colours) {
  const stops = colours.map(channels);
  return Array.from({ length: 256 }, (_, index) => {
    const place = (index / 255) * (stops.length - 1);
    const low = Math.min(Math.floor(place), stops.length - 2);
    const mixed = stops[low].map((from, i) => Math.round(from + (stops[low + 1][i] - from) * (place - low)));
    return `rgb(${mixed})`;
  });
}
