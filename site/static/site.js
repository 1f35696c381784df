// Search in the titles of all pages. The list, pages.js, is loaded when the field is used first. Without scripts there is no field.
"use strict";
const box = document.querySelector(".search");
const field = box.querySelector("input");
const list = box.querySelector("ol");
const root = document.querySelector("link[rel=stylesheet]").getAttribute("href").replace("site.css", "");
let entries = null;
box.hidden = false;

// On a narrow screen the navigation is closed until somebody opens it.
if (matchMedia("(max-width: 60rem)").matches) document.querySelector("nav details").open = false;
document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest" });

// addPages is called by pages.js.
function addPages(pages) {
  entries = pages.flatMap((p) => [
    { page: p.title, title: "", url: p.url },
    ...(p.titles || []).map((t) => ({ page: p.title, title: t.title, url: p.url + "#" + t.id })),
  ]);
  show();
}

function load() {
  if (entries) return;
  entries = [];
  const script = document.createElement("script");
  script.src = root + "pages.js";
  document.head.append(script);
}

function show() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = words.length === 0 ? [] : entries.filter((e) => words.every((w) => (e.page + " " + e.title).toLowerCase().includes(w)));
  // Titles that begin with the first word come first, then titles of pages.
  const rank = (e) => ((e.title || e.page).toLowerCase().startsWith(words[0]) ? 0 : 2) + (e.title ? 1 : 0);
  found.sort((a, b) => rank(a) - rank(b));
  list.replaceChildren(...found.slice(0, 12).map((e) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = root + e.url;
    link.textContent = e.title || e.page;
    if (e.title) {
      const where = document.createElement("small");
      where.textContent = e.page;
      link.append(where);
    }
    item.append(link);
    return item;
  }));
  if (words.length > 0 && found.length === 0) list.textContent = "No title has these words.";
  list.hidden = words.length === 0;
}

field.addEventListener("focus", load);
field.addEventListener("input", () => { load(); show(); });
box.addEventListener("keydown", (e) => {
  const links = [...list.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  if (e.key === "Escape") { field.value = ""; show(); field.blur(); return; }
  if (e.key === "Enter" && at < 0 && links[0]) { links[0].click(); return; }
  const to = e.key === "ArrowDown" ? at + 1 : e.key === "ArrowUp" ? at - 1 : null;
  if (to === null) return;
  e.preventDefault();
  (links[to] || field).focus();
});
document.addEventListener("keydown", (e) => {
  if (e.key === "/" && !e.ctrlKey && !e.metaKey && document.activeElement.tagName !== "INPUT") { e.preventDefault(); field.focus(); }
});
document.addEventListener("click", (e) => { if (!box.contains(e.target)) list.hidden = true; });
