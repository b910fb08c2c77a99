// Shows a typed password, and hides it again before sending: browsers remember text fields.
(() => {
  for (const input of document.querySelectorAll("input[type=password]")) {
    const button = document.createElement("button");
    const show = (shown) => {
      input.type = shown ? "text" : "password";
      button.textContent = shown ? "Esconder a senha" : "Mostrar a senha";
    };
    button.type = "button";
    button.className = "button plain small";
    button.setAttribute("aria-controls", input.id);
    button.addEventListener("click", () => show(input.type === "password"));
    input.form.addEventListener("submit", () => show(false));
    show(false);
    const line = document.createElement("p");
    line.append(button);
    input.after(line);
  }
})();
