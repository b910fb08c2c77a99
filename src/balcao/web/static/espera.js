// Counts the seconds of a lookup on its waiting page; without it, the page reloads itself.
(() => {
  for (const one of document.querySelectorAll("[data-elapsed]")) {
    const began = Date.now() - Number(one.dataset.elapsed) * 1000;
    setInterval(() => {
      const passed = Math.round((Date.now() - began) / 1000);
      const minutes = Math.floor(passed / 60);
      one.textContent = minutes ? `${minutes} min ${passed % 60} s` : `${passed} s`;
    }, 1000);
  }
})();
