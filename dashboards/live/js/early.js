// Runs before the first paint, so that a chosen theme does not flash in over another. A classic script: modules wait.
(() => {
  try {
    const theme = localStorage.getItem("tidegate.theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // Storage may be forbidden; the system's theme will do.
  }
})();
