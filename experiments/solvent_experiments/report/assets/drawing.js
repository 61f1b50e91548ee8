"use strict";
// Making elements. Texts only ever become text nodes: names of runs and compounds are not to be trusted.

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== "") node.append(child);
  }
  return node;
}

function element(name, attributes, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function shape(name, attributes, ...children) {
  return filled(document.createElementNS(SVG_NAMESPACE, name), attributes, children);
}

// A drawing that is as wide as its place; `label` is what it shows, for who does not see it.
function drawing(width, height, label, ...children) {
  return shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...children);
}

function label(text, x, y, anchor = "start", kind = "") {
  return shape("text", { x: x, y: y, "text-anchor": anchor, class: kind }, text);
}

function box(x, y, width, height, kind) {
  return shape("rect", { x: x, y: y, width: Math.max(0, width), height: Math.max(0, height), class: kind });
}

function line(x1, y1, x2, y2, kind) {
  return shape("line", { x1: x1, y1: y1, x2: x2, y2: y2, class: kind });
}

function dot(x, y, radius, kind) {
  return shape("circle", { cx: x, cy: y, r: radius, class: kind });
}

// Numbers as the figures write them: a true minus sign, no minus before zero.
function fixed(value, digits = 2) {
  const text = Math.abs(value).toFixed(digits);
  return value < 0 && Number(text) !== 0 ? `\u2212${text}` : text;
}

function signed(value, digits = 2) {
  const text = fixed(value, digits);
  return value > 0 && Number(text) !== 0 ? `+${text}` : text;
}

function words(name) {
  return name.replaceAll("_", " ").replace("dmso", "DMSO");
}

function counted(count, name) {
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}
