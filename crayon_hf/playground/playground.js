// Shows the tokens of a text, in up to four columns. A live page asks its server; a static page contains its data.
// Strings from a text or a vocabulary are inserted with textContent, never as markup.
(function () {
  "use strict";
  const CHUNK = 600; // tokens drawn at once, in all columns together; scrolling to the end draws more
  const MOST_DRAWN = 20000; // limit of a live page, which redraws on each key
  const COLOURS = 6;
  const ANNOUNCE_DELAY = 800; // ms after the last change until a screen reader announces the counts

  document.addEventListener("DOMContentLoaded", function () {
    const data = JSON.parse(document.getElementById("data").textContent);
    const byId = (id) => document.getElementById(id);
    const unit = data.is_bytes ? "bytes" : "characters";
    const panels = [];
    let shownQuery = null; // the query of the tokens on the page
    let isWaiting = false; // for the answer to a request for tokens
    let isStale = false; // whether the query has changed since that request

    // -- formatting

    const most = data.live ? MOST_DRAWN : Infinity;
    const chunk = () => Math.ceil(CHUNK / panels.length);
    const number = (value) => value.toLocaleString("en-US");
    const plural = (value, noun) => number(value) + " " + noun + (value === 1 ? "" : "s");
    const ratio = (value, count) => (count ? (value / count).toFixed(2) : "–");

    function element(name, className, text) {
      const made = document.createElement(name);
      if (className) made.className = className;
      if (text !== undefined) made.textContent = text;
      return made;
    }

    function show(node, text) {
      node.textContent = text || "";
      node.hidden = !text;
    }

    // -- data, from the server or from the page

    async function post(path, body) {
      const text = JSON.stringify(body);
      if (new TextEncoder().encode(text).length > data.limits.bytes) {
        return { error: "The text is too long: a request may have up to " + number(data.limits.bytes) + " bytes." };
      }
      try {
        const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: text });
        if (!answer.ok) return { error: (await answer.text()).trim() };
        return await answer.json();
      } catch (error) {
        return { error: "The server does not respond: is crayon-hf playground still running?" };
      }
    }

    function currentQuery() {
      return {
        text: byId("text").value,
        names: panels.map((panel) => panel.name),
        add_special_tokens: byId("add-special").checked,
        special_as_text: !byId("parse-special").checked,
      };
    }

    async function rowsOf(panel, first, count) {
      if (!data.live) return panel.given.rows.slice(first, first + count);
      const query = shownQuery;
      const answer = await post("encode", { ...query, first: first, count: count });
      return query === shownQuery && answer.panels ? answer.panels[panels.indexOf(panel)].rows || [] : [];
    }

    async function fetchDerivation(panel, token) {
      if (!data.live) return panel.given.derivations[panel.given.steps[token]];
      return post("explain", { ...shownQuery, panel: panels.indexOf(panel), token: token });
    }

    // -- tokens

    function describe(row) {
      const place = row[6] === "inserted" ? "inserted by the post-processor" : unit + " " + row[4] + "–" + row[5];
      return ["id " + row[0], "token " + row[2], ...(row[3] ? ["bytes " + row[3]] : []), place];
    }

    function drawToken(row, place) {
      const colour = row[6] ? "cs" : "c" + (place % COLOURS);
      const token = element("span", "t " + colour + (row[7] ? " differs" : ""));
      let label = "";
      for (const part of row[1]) {
        if (part === 0) token.append(document.createElement("br"));
        else if (typeof part === "string") token.append(part);
        else token.append(element("u", "", part[0]));
        if (part !== 0) label += part;
      }
      token.tabIndex = -1;
      token.setAttribute("role", "button");
      token.setAttribute("aria-expanded", "false");
      token.setAttribute(
        "aria-label",
        [label, ...describe(row), ...(row[6] === "added" ? ["added token"] : []), ...(row[7] ? ["differs"] : [])].join(", ")
      );
      return token;
    }

    function draw(panel, rows) {
      const drawn = document.createDocumentFragment();
      for (const row of rows) {
        if (row[8]) drawn.append(row[8]);
        const token = drawToken(row, panel.rows.length);
        panel.rows.push(row);
        panel.spans.push(token);
        panel.places.set(token, panel.spans.length - 1);
        drawn.append(token);
      }
      panel.tokens.insertBefore(drawn, panel.end);
      if (panel.spans.length && !panel.current) rove(panel, panel.spans[0]);
      panel.observer.unobserve(panel.end); // observing it again reports whether the end is in view
      panel.observer.observe(panel.end);
      const left = panel.count - panel.rows.length;
      const cut = panel.rows.length >= most ? ", which are not shown" : "";
      show(panel.rest, left > 0 ? "… and " + plural(left, "more token") + cut : rest());
    }

    const rest = () => (data.left_out ? "… and " + plural(data.left_out, "more byte") + " of the text: --all shows them" : "");

    async function more(panel) {
      if (panel.drawing || panel.rows.length >= Math.min(panel.count, most)) return;
      panel.drawing = true;
      const before = panel.rows;
      const rows = await rowsOf(panel, before.length, chunk());
      panel.drawing = false;
      if (before !== panel.rows || !rows.length) return;
      draw(panel, rows);
    }

    function fill(panel, given, sizes) {
      show(panel.problem, given.error || panel.failed);
      panel.counts.hidden = Boolean(given.error);
      panel.tokens.hidden = Boolean(given.error);
      show(panel.encoder, given.note);
      show(panel.rest, "");
      closeDerivation(panel);
      panel.checked.hidden = true;
      panel.given = given;
      panel.count = given.count || 0;
      panel.rows = [];
      panel.spans = [];
      panel.places = new Map();
      panel.current = null;
      const top = panel.tokens.scrollTop;
      panel.tokens.replaceChildren(panel.end);
      if (given.error) return;
      for (const field of panel.counts.querySelectorAll("dd")) {
        const name = field.dataset.field;
        field.textContent = name === "count" ? number(given.count) : ratio(sizes[name], given.count);
      }
      panel.counts.querySelector(".for-text").hidden = Boolean(data.is_bytes);
      draw(panel, data.live ? given.rows : given.rows.slice(0, chunk()));
      panel.tokens.scrollTop = top;
    }

    function showAll(answer) {
      show(byId("problem"), answer.error);
      if (answer.error) {
        byId("sizes").textContent = "";
        for (const panel of panels) fill(panel, { error: "No tokens: see above." }, {});
        return;
      }
      const chars = data.is_bytes ? [] : [plural(answer.characters, "character")];
      byId("sizes").textContent = [...chars, plural(answer.bytes, "byte")].join(", ");
      panels.forEach((panel, place) => fill(panel, answer.panels[place], answer));
      document.querySelector(".differs-key").hidden = !answer.panels.some((each) => each.differing);
      announce();
    }

    let announcing = 0;
    function announce() {
      clearTimeout(announcing);
      announcing = setTimeout(function () {
        const counts = panels.map((panel) => {
          const differing = panel.given.differing ? ", " + number(panel.given.differing) + " of them differ" : "";
          const compared = panel.checked.hidden ? "" : ", " + panel.checked.querySelector("p span").textContent;
          return panel.name + ": " + (panel.given.error || plural(panel.count, "token") + differing + compared);
        });
        byId("summary").textContent = [byId("sizes").textContent, ...counts].join("; ");
      }, ANNOUNCE_DELAY);
    }

    // -- typing: one request at a time; the next one has the newest text

    async function update() {
      isStale = isWaiting;
      if (isWaiting) return;
      isWaiting = true;
      const query = currentQuery();
      const shown = Math.max(chunk(), ...panels.map((panel) => Math.min(panel.rows.length, data.limits.rows)));
      const answer = await post("encode", { ...query, first: 0, count: shown });
      isWaiting = false;
      // If a column was added or removed meanwhile, drop this answer: another request follows.
      if (query.names.length === panels.length) {
        shownQuery = query;
        showAll(answer);
        if (!isStale && byId("check").checked) check();
      }
      if (isStale) update();
    }

    async function check() {
      const query = shownQuery;
      for (const panel of [...panels]) {
        if (panel.given.error) continue;
        const place = panels.indexOf(panel);
        if (query !== shownQuery || place < 0) return;
        const answer = await post("check", { ...query, panel: place });
        if (query !== shownQuery || !byId("check").checked) return;
        showCheck(panel, answer);
      }
      announce();
    }

    function showCheck(panel, answer) {
      const kind = answer.error ? "unknown" : answer.same ? "yes" : "no";
      panel.checked.className = "checked " + kind;
      panel.checked.hidden = false;
      const text = answer.error
        ? "Not compared: " + answer.error
        : answer.same
          ? "The same " + plural(answer.count, "id") + " as " + answer.reference
          : answer.reference + " gives " + plural(answer.count, "id") + "; the first difference is at token " + number(answer.at + 1);
      panel.checked.querySelector("p span").textContent = text;
      const scroll = panel.checked.querySelector(".scroll");
      scroll.hidden = Boolean(answer.error);
      const body = panel.checked.querySelector("tbody");
      body.replaceChildren();
      if (answer.error) return;
      for (const [name, ids] of [["ours", answer.ours], ["reference", answer.theirs]]) {
        const line = body.insertRow();
        const head = element("th", "", name);
        head.scope = "row";
        line.append(head);
        ids.forEach((id, i) => line.append(element("td", !answer.same && answer.first + i >= answer.at ? "other" : "", id)));
        if (answer.first + ids.length < (name === "ours" ? panel.count : answer.count)) line.append(element("td", "", "…"));
      }
    }

    // -- one token: hover and focus show its tooltip, a click its derivation

    const tip = byId("tip");

    function showTip(panel, token) {
      tip.textContent = describe(panel.rows[panel.places.get(token)]).join("\n");
      tip.hidden = false;
      const box = token.getClientRects()[0];
      const left = Math.min(box.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
      const below = box.bottom + 6 + tip.offsetHeight < window.innerHeight;
      tip.style.left = Math.max(8, left) + window.scrollX + "px";
      tip.style.top = (below ? box.bottom + 6 : box.top - 6 - tip.offsetHeight) + window.scrollY + "px";
    }

    function hideTip() {
      tip.hidden = true;
    }

    function rove(panel, token) {
      if (panel.current) panel.current.tabIndex = -1;
      panel.current = token;
      token.tabIndex = 0;
    }

    async function open(panel, token) {
      closeDerivation(panel);
      panel.open = token;
      const place = panel.places.get(token);
      const answer = await fetchDerivation(panel, place);
      if (panel.open !== token) return;
      token.setAttribute("aria-expanded", "true");
      showDerivation(panel, panel.rows[place], answer);
    }

    function closeDerivation(panel) {
      if (panel.open) panel.open.setAttribute("aria-expanded", "false");
      panel.open = null;
      panel.derivation.hidden = true;
    }

    function showDerivation(panel, row, answer) {
      const box = panel.derivation;
      box.querySelector("h3").textContent = "Token " + row[2] + ", id " + row[0];
      const pretoken = box.querySelector(".pretoken");
      pretoken.replaceChildren();
      (answer.tokens || []).forEach(function (token, place) {
        const part = element("span", "t c" + (place % COLOURS), token[0]);
        part.title = "id " + token[1];
        if (place === answer.at) part.setAttribute("aria-current", "true");
        pretoken.append(part);
      });
      pretoken.hidden = pretoken.childElementCount < 2;
      box.querySelector(".notes").replaceChildren(
        ...[...(answer.error ? [answer.error] : []), ...(answer.notes || [])].map((note) => element("li", "", note))
      );
      const rows = answer.rows || [];
      box.querySelector(".scroll").hidden = !rows.length;
      const head = element("tr");
      for (const name of answer.columns || []) {
        const cell = element("th", "", name);
        cell.scope = "col";
        head.append(cell);
      }
      box.querySelector("thead").replaceChildren(head);
      box.querySelector("tbody").replaceChildren(...rows.map(derivationRow));
      box.hidden = false;
      box.scrollIntoView({ block: "nearest" });
      box.focus({ preventScroll: true });
    }

    function derivationRow(cells) {
      const line = element("tr");
      for (const cell of cells) {
        const made = element("td");
        if (typeof cell === "string") made.textContent = cell;
        else for (const [text, isNew] of cell) made.append(element(isNew ? "strong" : "span", isNew ? "part new" : "part", text));
        line.append(made);
      }
      return line;
    }

    function listen(panel) {
      const tokenOf = (event) => (event.target instanceof Element ? event.target.closest(".t") : null);
      panel.tokens.addEventListener("pointerover", (event) => (tokenOf(event) ? showTip(panel, tokenOf(event)) : hideTip()));
      panel.tokens.addEventListener("pointerleave", hideTip);
      panel.tokens.addEventListener("scroll", hideTip);
      panel.tokens.addEventListener("focusin", function (event) {
        if (!tokenOf(event)) return;
        rove(panel, tokenOf(event));
        showTip(panel, tokenOf(event));
      });
      panel.tokens.addEventListener("focusout", hideTip);
      panel.tokens.addEventListener("click", function (event) {
        if (!tokenOf(event)) return;
        rove(panel, tokenOf(event));
        open(panel, tokenOf(event));
      });
      panel.tokens.addEventListener("keydown", function (event) {
        const token = tokenOf(event);
        if (!token) return;
        const place = panel.places.get(token);
        const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: panel.spans.length - 1 }[event.key];
        if (to !== undefined && panel.spans[to]) panel.spans[to].focus();
        else if (event.key === "Enter" || event.key === " ") open(panel, token);
        else if (event.key === "Escape") hideTip();
        else return;
        event.preventDefault();
      });
      const close = function () {
        const token = panel.open;
        closeDerivation(panel);
        if (token) token.focus();
      };
      panel.derivation.querySelector(".close").addEventListener("click", close);
      panel.derivation.addEventListener("keydown", (event) => event.key === "Escape" && close());
    }

    // -- columns

    let made = 0;
    function addPanel(name) {
      const root = byId("panel").content.firstElementChild.cloneNode(true);
      const find = (selector) => root.querySelector(selector);
      const panel = { root: root, name: name, rows: [], spans: [], places: new Map(), given: {}, count: 0 };
      panel.tokens = find(".tokens");
      panel.end = element("span", "end"); // more tokens are drawn when it comes into view
      panel.problem = find(".problem");
      panel.counts = find(".counts");
      panel.encoder = find(".encoder");
      panel.checked = find(".checked");
      panel.rest = find(".rest");
      panel.derivation = find(".derivation");
      const title = find("h2");
      title.id = "title-" + ++made;
      root.setAttribute("aria-labelledby", title.id);
      find(".derivation h3").id = "derivation-" + made;
      panel.derivation.setAttribute("aria-labelledby", find(".derivation h3").id);
      panel.setName = function () {
        title.textContent = panel.name || "No tokenizer";
        panel.tokens.setAttribute("aria-label", "Tokens of " + panel.name);
      };
      panel.setName();
      panel.tokens.append(panel.end);
      listen(panel);
      if (data.live) {
        const form = find(".name");
        const input = find(".name input");
        input.id = "name-" + made;
        find(".name label").htmlFor = input.id;
        input.value = name;
        form.addEventListener("submit", function (event) {
          event.preventDefault();
          openNamed(panel, input.value.trim());
        });
        find(".remove").addEventListener("click", function () {
          panels.splice(panels.indexOf(panel), 1);
          root.remove();
          columns();
          update();
        });
      }
      const seen = (entries) => entries[entries.length - 1].isIntersecting && more(panel);
      panel.observer = new IntersectionObserver(seen, { root: panel.tokens, rootMargin: "300px" });
      panels.push(panel);
      byId("panels").append(root);
      columns();
      return panel;
    }

    // While a tokenizer is downloaded and compiled, the column keeps its old one and typing continues.
    async function openNamed(panel, name) {
      if (!name) return;
      panel.opening = name;
      show(panel.problem, "");
      show(panel.encoder, "Opening " + name + " …");
      const answer = await post("open", { name: name });
      if (panel.opening !== name) return;
      panel.failed = answer.error ? answer.error + " (still showing the tokens of " + panel.name + ")" : "";
      show(panel.problem, panel.failed);
      show(panel.encoder, panel.given.note);
      if (answer.error) return;
      panel.name = name;
      panel.setName();
      update();
    }

    function columns() {
      if (!data.live) return;
      byId("add").disabled = panels.length >= data.limits.names;
      for (const panel of panels) panel.root.querySelector(".remove").hidden = panels.length < 2;
    }

    if (!data.live) {
      for (const given of data.panels) addPanel(given.name);
      showAll(data);
      return;
    }
    byId("text").value = data.text;
    for (const name of data.names) addPanel(name);
    byId("ask").addEventListener("submit", (event) => event.preventDefault());
    byId("text").addEventListener("input", update);
    for (const id of ["add-special", "parse-special", "check"]) byId(id).addEventListener("change", update);
    byId("add").addEventListener("click", function () {
      const panel = addPanel(panels[panels.length - 1].name);
      update();
      panel.root.querySelector(".name input").select();
    });
    update();
  });
})();
