// SPDX-License-Identifier: BSD-3-Clause
// The pictures of report.html: which group of series is drawn, and how. Chart.js stands in front.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const colours = ["#1b5e9b", "#c23b22", "#2e7d32", "#7b3fa0", "#b36b00", "#00808a", "#8c2f5c",
                 "#4d4d4d"];

function duration(ns) {
  if (ns === 0) return "0";
  for (const [scale, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]])
    if (ns >= scale * 0.9995) return Number((ns / scale).toPrecision(3)) + " " + unit;
  return Number(ns.toPrecision(3)) + " ns";
}

// 1/(1-q) on a logarithmic axis, named by the percentile.
function percentile(x) {
  const power = Math.round(Math.log10(x));
  if (Math.abs(x - 10 ** power) > 1e-6 * x) return "";
  return power === 0 ? "0 %" : Number((100 * (1 - 10 ** -power)).toFixed(power)) + " %";
}

// Some ticks of a logarithmic axis; all of them stand on each other.
function tick(ns) {
  const digit = ns / 10 ** Math.floor(Math.log10(ns) + 1e-9);
  return ns <= 0 || [1, 2, 5].some((kept) => Math.abs(digit - kept) < 1e-6) ? duration(ns) : "";
}

function colour(index) { return colours[index % colours.length]; }

// A time of 0 has no place on a logarithmic axis.
function timeAxis(series) {
  const zero = series.some((one) => one.curve.some(([, ns]) => ns <= 0));
  return {type: zero ? "linear" : "logarithmic", title: {display: true, text: "time"},
          ticks: {callback: zero ? duration : tick, maxRotation: 0}};
}

function curve(series, index) {
  const last = 1 / (1 - (series.curve.length > 1 ? series.curve[series.curve.length - 2][0] : 0));
  const points = series.curve.map(([q, ns]) => ({x: q < 1 ? 1 / (1 - q) : 2 * last, y: ns}));
  return {label: series.label, data: points, borderColor: colour(index),
          backgroundColor: colour(index), borderWidth: 2, stepped: "before", pointRadius: 0,
          pointHitRadius: 8};
}

function curves(series) {
  const share = (item) => (100 * (1 - 1 / item.parsed.x)).toFixed(2) + " %";
  return {
    type: "scatter",
    data: {datasets: series.map(curve)},
    options: {
      animation: false, maintainAspectRatio: false, showLine: true,
      scales: {x: {type: "logarithmic", min: 1,
                   title: {display: true, text: "share of the samples"},
                   ticks: {callback: percentile, maxRotation: 0}},
               y: timeAxis(series)},
      plugins: {
        legend: {position: "bottom", align: "start"},
        tooltip: {callbacks: {label: (item) => item.dataset.label + ": " +
                                               duration(item.parsed.y) + " at " + share(item)}},
      },
    },
  };
}

// Series of one value have no curve; a bar each, its time beside its name.
function bars(series) {
  const times = series.map((one) => one.curve[one.curve.length - 1][1]);
  return {
    type: "bar",
    data: {labels: series.map((one, index) => one.label + ": " + duration(times[index])),
           datasets: [{data: times, backgroundColor: series.map((_, index) => colour(index)),
                       maxBarThickness: 24}]},
    options: {
      animation: false, maintainAspectRatio: false, indexAxis: "y",
      scales: {x: timeAxis(series)},
      plugins: {legend: {display: false},
                tooltip: {callbacks: {label: (item) => duration(item.parsed.x)}}},
    },
  };
}

const chooser = document.getElementById("group");
data.groups.forEach((group, index) => chooser.add(new Option(group.name, String(index))));

let chart = null;
function show() {
  const {series, one_value} = data.groups[Number(chooser.value)];
  if (chart) chart.destroy();
  chart = new Chart(document.getElementById("curves"), one_value ? bars(series) : curves(series));
}
chooser.addEventListener("change", show);
if (data.groups.length > 0) show();
