/* The map: each node is one square, coloured by state, in groups. */
'use strict';
(() => {
  const canvas = document.getElementById('map');
  if (!canvas) return;
  const note = document.getElementById('map-note');
  const tip = document.getElementById('map-tip');
  const STATES = ['free', 'used', 'unavailable', 'filtered', 'down', 'unowned'];
  const WORDS = ['free', 'in use', 'unavailable', 'outside of its filter',
    'owner not alive', 'unowned'];
  const SIZES = [20, 16, 13, 11, 9, 8, 7, 6, 5, 4, 3];
  const LABEL = 18, GAP = 10, TALL = 620;
  let data = null, groups = [], side = 3, columns = 1;

  function grouped() {
    const {names, of} = data[canvas.dataset.by];
    const found = names.map(name => ({name, nodes: []}));
    for (let i = 0; i < of.length; i++) found[of[i]].nodes.push(i);
    // Those that need an operator first, so that they never hide.
    for (const group of found)
      group.nodes.sort((a, b) => data.states.charCodeAt(b) - data.states.charCodeAt(a) || a - b);
    return found.sort((a, b) => a.name.localeCompare(b.name, 'en', {numeric: true}));
  }

  function layout(width) {
    for (side of SIZES) {
      columns = Math.max(1, Math.floor(width / side));
      let top = 0;
      for (const group of groups) {
        group.top = top + LABEL;
        top = group.top + Math.ceil(group.nodes.length / columns) * side + GAP;
      }
      if (top <= TALL || side === 3) return top;
    }
  }

  function draw() {
    const width = canvas.parentElement.clientWidth - 32;
    const height = layout(width);
    const scale = window.devicePixelRatio || 1;
    canvas.width = width * scale;
    canvas.height = height * scale;
    canvas.style.height = height + 'px';
    const style = getComputedStyle(document.documentElement);
    const pen = canvas.getContext('2d');
    pen.scale(scale, scale);
    const inner = side > 4 ? side - (side > 8 ? 2 : 1) : side - .5;
    pen.font = '12px ' + getComputedStyle(document.body).fontFamily;
    pen.fillStyle = style.getPropertyValue('--dim');
    for (const group of groups)
      pen.fillText((group.name || 'none') + '  ' + group.nodes.length.toLocaleString('en'), 0, group.top - 5);
    // One colour after the other: changing it is what costs.
    STATES.forEach((name, state) => {
      pen.fillStyle = style.getPropertyValue('--s-' + name);
      const code = 48 + state;
      for (const group of groups)
        for (let i = 0; i < group.nodes.length; i++)
          if (data.states.charCodeAt(group.nodes[i]) === code)
            pen.fillRect(i % columns * side, group.top + Math.floor(i / columns) * side, inner, inner);
    });
    canvas.dataset.drawn = data.uuids.length;
    canvas.ariaLabel = 'Nodes by group: ' + groups.map(
      group => (group.name || 'none') + ' ' + group.nodes.length).join(', ');
  }

  function nodeAt(event) {
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    const column = Math.floor(x / side);
    if (column < 0 || column >= columns) return -1;
    for (const group of groups) {
      const row = Math.floor((y - group.top) / side);
      const node = row >= 0 ? group.nodes[row * columns + column] : undefined;
      if (node !== undefined) return node;
    }
    return -1;
  }

  function say(seconds) {
    const age = Math.round(data.age + seconds), number = data.uuids.length;
    note.textContent = number.toLocaleString('en')
      + (number === 1 ? ' node' : ' nodes') + ' on record, '
      + age + ' s old. Click a square to see its node.';
  }

  note.textContent = 'Reading the nodes …';
  let readAt = 0, failed = '';
  async function load() {
    try {
      const answer = await fetch('/fleet.json');
      if (answer.redirected) { location.reload(); return; }
      if (!answer.ok) throw new Error('the service answered ' + answer.status);
      data = await answer.json();
      failed = '';
      readAt = performance.now();
      groups = grouped();
      draw();
      canvas.dataset.at = Math.round(performance.now());
    } catch (error) {
      failed = String(error.message || error);
    }
    tick();
    setTimeout(load, data && data.uuids.length > 20000 ? 60000 : 10000);
  }

  function tick() {
    if (data) say((performance.now() - readAt) / 1000);
    if (failed) note.textContent = (data ? note.textContent + ' ' : '') + 'Not read again: ' + failed;
  }

  canvas.addEventListener('pointermove', event => {
    const node = data ? nodeAt(event) : -1;
    canvas.style.cursor = node < 0 ? 'default' : 'pointer';
    tip.hidden = node < 0;
    if (node < 0) return;
    const owner = data.service;
    tip.textContent = (data.names[node] || data.uuids[node]) + ': '
      + WORDS[data.states.charCodeAt(node) - 48] + ', '
      + (owner.names[owner.of[node]] || 'no service');
    tip.style.left = Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8) + 'px';
    tip.style.top = event.clientY + 16 + 'px';
  });
  canvas.addEventListener('pointerleave', () => { tip.hidden = true; });
  canvas.addEventListener('click', event => {
    const node = data ? nodeAt(event) : -1;
    if (node >= 0) location.href = '/nodes/' + data.uuids[node];
  });
  let due = 0;
  addEventListener('resize', () => {
    clearTimeout(due);
    due = setTimeout(() => data && draw(), 100);
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => data && draw());
  setInterval(tick, 1000);
  load();
})();
