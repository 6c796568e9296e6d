// A click on a cell puts its name and value into the form below.
const form = document.getElementById("write");
for (const cell of document.querySelectorAll("td[data-cell]")) {
  cell.addEventListener("click", () => {
    document.querySelector("td.chosen")?.classList.remove("chosen");
    cell.classList.add("chosen");
    form.elements.start.value = cell.dataset.cell;
    form.elements.rows.value = cell.textContent;
    form.elements.rows.focus();
  });
}
