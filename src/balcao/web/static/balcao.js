// Enhancements for pages that work without them: masks, check digits, copying, waiting.
(() => {
  "use strict";

  const COPIED = document.documentElement.lang === "en" ? "Copied" : "Copiado";

  // The characters allowed in a document, and the punctuation before the character at a position.
  const FORMS = {
    cnpj: { keep: /[0-9A-Z]/g, length: 14, signs: { 2: ".", 5: ".", 8: "/", 12: "-" } },
    cpf: { keep: /[0-9]/g, length: 11, signs: { 3: ".", 6: ".", 9: "-" } },
    date: { keep: /[0-9]/g, length: 8, signs: { 2: "/", 4: "/" } },
  };

  const bare = (kind, text) => (text.toUpperCase().match(FORMS[kind].keep) || []).join("");

  const masked = (kind, text) =>
    [...bare(kind, text).slice(0, FORMS[kind].length)]
      .map((character, place) => (FORMS[kind].signs[place] || "") + character)
      .join("");

  // Separate documents in a text: are there several?
  const DOCUMENT =
    /(?<![\dA-Z])(?:[\dA-Z]{2}\.?[\dA-Z]{3}\.?[\dA-Z]{3}\/?[\dA-Z]{4}-?\d{2}|\d{3}\.?\d{3}\.?\d{3}-?\d{2})(?![\dA-Z])/g;
  const several = (text) => text.toUpperCase().match(DOCUMENT)?.length || 0;

  // Whether this can become a document: words are left unchanged.
  const couldBe = (kind, text) =>
    (kind === "cpf" ? /^[\d\s./-]*$/ : /^[\dA-Z\s./-]*$/i).test(text)
    && /\d/.test(text) && bare("cnpj", text).length <= FORMS[kind].length
    && (bare("cnpj", text).length === 14 || !/[A-Z]\s|\s[A-Z]/i.test(text));

  // A whole document in pasted text, with words or spaces around and in it.
  const WHOLE = {
    cnpj: /\b[0-9A-Z]{2}\s*\.?\s*[0-9A-Z]{3}\s*\.?\s*[0-9A-Z]{3}\s*\/?\s*[0-9A-Z]{4}\s*-?\s*[0-9]{2}\b/,
    cpf: /\b[0-9]{3}\s*\.?\s*[0-9]{3}\s*\.?\s*[0-9]{3}\s*-?\s*[0-9]{2}\b/,
  };

  // No punctuation follows the last character, so that deleting works. From pasted text the one
  // document is taken; text typed after a whole document stays, it may become another.
  function mask(input, typed) {
    const kind = input.dataset.mask;
    const { length } = FORMS[kind];
    // A pasted document of the other kind keeps its own punctuation.
    const other = { cnpj: "cpf", cpf: "cnpj" }[kind];
    if (other && !typed && right(other, bare("cnpj", input.value))) return;
    // A date pasted from a spreadsheet or a system may begin with its year.
    const iso = kind === "date" && !typed && /^\s*(\d{4})-(\d\d)-(\d\d)\s*$/.exec(input.value);
    if (iso) input.value = `${iso[3]}${iso[2]}${iso[1]}`;
    const whole = typed ? null : WHOLE[kind]?.exec(input.value.toUpperCase());
    if (kind in WHOLE && (several(input.value) > 1 || (!whole && !couldBe(kind, input.value))
      || (typed && /\W$/.test(input.value) && bare(kind, input.value).length === length))) return;
    const value = masked(kind, whole ? whole[0] : input.value);
    if (value === input.value) return;
    let left = whole ? length : bare(kind, input.value.slice(0, input.selectionStart)).length;
    input.value = value;
    let place = 0;
    while (left > 0 && place < value.length) if (/[0-9A-Z]/.test(value[place++])) left--;
    input.setSelectionRange(place, place);
  }

  // Modulo 11. The value of a character is its code minus that of "0": A is 17.
  function digit(text, greatestWeight) {
    const sum = [...text].reverse().reduce(
      (sum, one, place) => sum + (one.charCodeAt(0) - 48) * (2 + (place % (greatestWeight - 1))), 0);
    return sum % 11 < 2 ? "0" : String(11 - (sum % 11));
  }

  function right(kind, text) {
    const weight = kind === "cnpj" ? 9 : 11;
    const first = digit(text.slice(0, -2), weight);
    return new RegExp(`^.{${FORMS[kind].length - 2}}\\d\\d$`).test(text) && !/^(.)\1*$/.test(text)
      && text.endsWith(first + digit(text.slice(0, -2) + first, weight));
  }

  // The error in a document, or "". The server provides the sentences and links.
  function wrong({ id, dataset: { check: kind, words }, value }) {
    const text = bare("cnpj", value);
    const { length } = FORMS[kind];
    if (!value.trim()) return "";
    const count = several(value);
    const many = count > 1 && document.getElementById(`${id}-many`)?.content.cloneNode(true);
    if (many) {
      many.querySelector("b").textContent = count;
      return many;
    }
    const other = document.getElementById(`${id}-other`);
    if (other && right(kind === "cnpj" ? "cpf" : "cnpj", text)) return other.content;
    if (words && text.length <= length && !couldBe(kind, value)) return words;
    if (text.length !== length) {
      const what = kind === "cnpj" ? "caracteres" : "dígitos";
      return `O ${kind.toUpperCase()} tem ${length} ${what}; aqui há ${text.length}.`;
    }
    return right(kind, text)
      ? ""
      : `Os dígitos verificadores deste ${kind.toUpperCase()} não conferem.`;
  }

  function say(input, complaint) {
    const place = document.getElementById(`${input.id}-error`);
    if (place) place.replaceChildren(complaint.cloneNode?.(true) ?? complaint);
    if (complaint) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  }

  document.addEventListener("input", ({ target, isComposing, data, inputType }) => {
    if (isComposing) return;
    if (target.dataset.mask in FORMS) mask(target, data?.length === 1 || /^delete/.test(inputType));
    // An error disappears once it is corrected; a new one appears on blur.
    if (target.dataset.check in FORMS && target.ariaInvalid && !wrong(target)) say(target, "");
  });

  // A change above a button would move it while it is being pressed, so it is deferred.
  let pressed = false;
  const released = [];
  addEventListener("pointerdown", () => { pressed = true; }, true);
  for (const end of ["pointerup", "pointercancel"]) {
    addEventListener(end, () => {
      pressed = false;
      // After the click that may follow.
      setTimeout(() => released.splice(0).forEach((then) => then()), 50);
    }, true);
  }

  document.addEventListener("focusout", ({ target }) => {
    if (!(target.dataset.check in FORMS)) return;
    const check = () => {
      const complaint = wrong(target);
      // The server's error stays until the value changes.
      if (complaint || target.value !== target.defaultValue) say(target, complaint);
    };
    if (pressed) released.push(check);
    else check();
  });

  document.addEventListener("htmx:before:swap", (event) => {
    if (!pressed) return;
    event.preventDefault();
    const form = event.target.closest("form");
    released.push(() => { if (form && !waiting.has(form)) form.dispatchEvent(new Event("change")); });
  });

  const openMenu = () => document.querySelector("details.person[open]");

  document.addEventListener("click", async ({ target }) => {
    if (openMenu() && !openMenu().contains(target)) openMenu().open = false;
    if (target.closest("[data-print]")) return print();
    const button = target.closest("[data-copy]");
    if (!button) return;
    const said = button.parentElement.querySelector("[aria-live]");
    const shown = button.parentElement.querySelector("code");
    const text = button.dataset.copy || (shown ? shown.textContent : location.href);
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = COPIED;
    } catch { // no clipboard without HTTPS, but a selection can be copied
      if (!shown) return prompt("Copie daqui:", text);
      getSelection().selectAllChildren(shown);
      said.textContent = document.execCommand("copy") ? COPIED : "Selecionado: use Ctrl+C";
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") openMenu()?.firstElementChild.click();
    // "/" focuses the search box, unless the focus is in a field.
    const box = document.getElementById("procurar");
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || !box
      || event.target.closest("input, textarea, select, [contenteditable]")) return;
    event.preventDefault();
    box.focus();
    box.select();
  });

  // A single-line field would drop the line breaks of a list.
  document.addEventListener("paste", (event) => {
    const { target: box, clipboardData } = event;
    const text = clipboardData?.getData("text") || "";
    if (box.id !== "procurar" || !/\n/.test(text.trim())) return;
    event.preventDefault();
    box.setRangeText(text.trim().replace(/\s+/g, " "), box.selectionStart, box.selectionEnd, "end");
  });

  const waiting = new Map(); // form → what ends its waiting

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || !form.matches("[data-busy]")) return;
    if (waiting.has(form)) return event.preventDefault();
    const note = form.querySelector(".busy");
    const clock = document.createElement("span");
    clock.ariaHidden = "true"; // not every second is worth reading out
    note.replaceChildren(form.dataset.busy || "Consultando…", " ", clock);
    const began = Date.now();
    const seconds = () => { clock.textContent = `${Math.round((Date.now() - began) / 1000)} s`; };
    const ticking = setInterval(seconds, 1000);
    const buttons = [...form.elements].filter((one) => one.type === "submit" && !one.disabled);
    const rest = (now) => buttons.forEach((one) => { one.disabled = now; });
    waiting.set(form, () => { clearInterval(ticking); note.replaceChildren(); rest(false); });
    // Once the browser has read the form, the pressed button included.
    setTimeout(rest, 0, true);
  });

  // A page restored from the browser's cache has no request running.
  addEventListener("pageshow", ({ persisted }) => {
    if (!persisted) return;
    waiting.forEach((end) => end());
    waiting.clear();
  });

  function prepare() {
    // The price is in the button, too; the button that asks for it is only for pages without script.
    const cost = document.querySelector("#consulta .cost");
    const price = document.querySelector("#preco [data-cost]")?.dataset.cost;
    if (cost) cost.textContent = price ? ` · ${price}` : "";
    document.querySelectorAll("[data-without-script]").forEach((one) => { one.hidden = true; });
    // Numbers of registers can be copied in place.
    const copying = document.getElementById("copiar");
    if (copying) document.querySelectorAll(".registers :is(dd, tbody th) .document").forEach((one) => {
      const added = copying.content.cloneNode(true);
      const button = added.querySelector("button");
      button.dataset.copy = one.textContent;
      button.ariaLabel = `Copiar ${one.textContent}`;
      one.after(" ", added);
    });
    copying?.remove();
    document.querySelectorAll(":is([data-copy], [data-print])[hidden]").forEach((one) => { one.hidden = false; });
    document.querySelectorAll("form[data-busy]").forEach((form) => {
      if (form.querySelector(".busy")) return;
      const note = document.createElement("p"); // there early, to be heard
      note.className = "busy";
      note.ariaLive = "polite";
      form.append(note);
    });
  }

  prepare();
  document.addEventListener("htmx:after:swap", prepare);
})();
