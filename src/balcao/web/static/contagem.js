// A button whose text has the number of ticked boxes of its form, and their price.
(() => {
  "use strict";
  document.querySelectorAll("[data-count]").forEach((button) => {
    const { count, price } = button.dataset, plain = button.textContent;
    const show = () => {
      const n = button.form.querySelectorAll("input[type=checkbox]:checked").length;
      button.textContent = n ? count.replace("{n}", n).replace("{m}", n * price) : plain;
    };
    button.form.addEventListener("change", show);
    addEventListener("pageshow", show);
  });
})();
