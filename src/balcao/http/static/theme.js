// Claro ou escuro, como o sistema de quem lê. Carregado antes de a página aparecer.
"use strict";

const dark = window.matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
follow();
dark.addEventListener("change", follow);
