// Questions before a form is sent, and boxes that tick all others.
document.addEventListener("submit", (event) => {
  const submitter = event.submitter;
  const question = (submitter && submitter.dataset.confirm) || event.target.dataset.confirm;
  if (question && !window.confirm(question)) event.preventDefault();
});
document.addEventListener("change", (event) => {
  const all = event.target.dataset.all;
  if (!all) return;
  for (const box of document.querySelectorAll(`input[type=checkbox][name="${all}"]`)) {
    box.checked = event.target.checked;
  }
});
