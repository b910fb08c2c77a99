// Suggestions of activities and towns while one types: a combobox with a list (ARIA 1.2). Without
// this script, the page offers the same choices after it is sent.
(() => {
  "use strict";

  const PAUSE_MS = 150;

  for (const input of document.querySelectorAll("[data-suggest]")) {
    const list = document.createElement("ul");
    list.id = `${input.id}-list`;
    list.className = "suggestions";
    list.role = "listbox";
    list.ariaLabel = `Sugestões de ${input.labels[0].textContent}`;
    list.hidden = true;
    input.after(list);
    input.role = "combobox";
    input.ariaAutoComplete = "list";
    input.ariaExpanded = "false";
    input.setAttribute("aria-controls", list.id);
    let later, asked = 0;

    const chosen = () => list.querySelector("[aria-selected='true']");

    function close() {
      clearTimeout(later);
      asked += 1; // an answer on its way comes too late
      list.hidden = true;
      input.ariaExpanded = "false";
      input.removeAttribute("aria-activedescendant");
    }

    function select(option) {
      if (chosen()) chosen().ariaSelected = "false";
      option.ariaSelected = "true";
      option.scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", option.id);
    }

    // The option replaces the last of the values, which commas separate.
    function take(option) {
      const before = input.value.split(",").slice(0, -1).map((value) => value.trim());
      input.value = [...before, option.dataset.value].join(", ");
      close();
    }

    async function ask() {
      const mine = ++asked;
      const { csrf, uf } = input.form.elements;
      const body = new URLSearchParams({
        csrf: csrf.value, campo: input.name, texto: input.value, uf: uf.value,
      });
      const response = await fetch(input.dataset.suggest, { method: "POST", body });
      const text = response.ok ? await response.text() : "";
      if (mine !== asked || document.activeElement !== input) return;
      list.innerHTML = text;
      list.hidden = !list.firstElementChild;
      input.ariaExpanded = String(!list.hidden);
      input.removeAttribute("aria-activedescendant");
    }

    input.addEventListener("input", () => {
      clearTimeout(later);
      later = setTimeout(ask, PAUSE_MS);
    });

    input.addEventListener("keydown", (event) => {
      const { key } = event;
      if (key === "Escape" && !list.hidden) {
        event.preventDefault();
        return close();
      }
      if (list.hidden) return;
      const options = [...list.children];
      const at = options.indexOf(chosen());
      if (key === "ArrowDown") select(options[(at + 1) % options.length]);
      else if (key === "ArrowUp") select(options[(at <= 0 ? options.length : at) - 1]);
      else if (key === "Enter" && at >= 0) take(options[at]);
      else return;
      event.preventDefault();
    });

    // Before the field loses its focus.
    list.addEventListener("mousedown", (event) => event.preventDefault());
    list.addEventListener("click", ({ target }) => {
      const option = target.closest("[role='option']");
      if (option) take(option);
    });
    input.addEventListener("blur", close);
  }
})();
