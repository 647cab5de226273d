// The theme button and, where a page has one, the copy button. Both are hidden until this runs.
(function () {
  "use strict";
  var root = document.documentElement;
  var dark = window.matchMedia("(prefers-color-scheme: dark)");

  function remembered(value) {
    // Storage may be denied to a file; then the choice lasts as long as the page.
    try {
      if (value === undefined) return window.localStorage.getItem("crayon-hf-theme");
      window.localStorage.setItem("crayon-hf-theme", value);
    } catch (error) {
      return null;
    }
    return value;
  }

  var chosen = remembered();
  if (chosen === "dark" || chosen === "light") root.dataset.theme = chosen;

  function isDark() {
    return root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
  }

  function copy(source) {
    if (navigator.clipboard && navigator.clipboard.writeText) {
      return navigator.clipboard.writeText(source.textContent).catch(function () {
        return selected(source);
      });
    }
    return new Promise(function (resolve) {
      resolve(selected(source));
    });
  }

  function selected(source) {
    window.getSelection().selectAllChildren(source);
    if (!document.execCommand("copy")) throw new Error("refused");
    window.getSelection().removeAllRanges();
  }

  document.addEventListener("DOMContentLoaded", function () {
    var theme = document.getElementById("theme");
    var button = document.getElementById("copy");
    var status = document.getElementById("copied");

    function show() {
      theme.setAttribute("aria-pressed", String(isDark()));
    }

    theme.hidden = false;
    show();
    dark.addEventListener("change", show);
    theme.addEventListener("click", function () {
      root.dataset.theme = isDark() ? "light" : "dark";
      remembered(root.dataset.theme);
      show();
    });

    if (!button) return;
    button.hidden = false;
    button.addEventListener("click", function () {
      copy(document.getElementById("command")).then(
        function () {
          status.textContent = "Copied";
        },
        function () {
          status.textContent = "Not copied: select the command instead";
        }
      );
    });
  });
})();
