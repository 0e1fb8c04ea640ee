// Saves a figure as a file, from the buttons below it.
document.addEventListener("click", (event) => {
  const { format, figure } = event.target.dataset;
  if (format) Plotly.downloadImage(figure, { format, filename: figure, scale: 2, width: null, height: null });
});
