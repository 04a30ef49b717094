/* The part of a page that is read again: it keeps its focus and its scroll
   positions, and while it cannot be read the page says so. */
'use strict';
(() => {
  const LATE = 20000;
  const note = document.getElementById('old');
  let readAt = Date.now(), failed = '', restore = () => {};

  const name = one => one.getAttribute('href') || one.getAttribute('aria-label');
  const alike = like => [...document.querySelectorAll('#live [href], #live [tabindex]')]
    .filter(one => name(one) === name(like));

  document.addEventListener('htmx:beforeSwap', () => {
    const focus = document.activeElement.closest('#live *');
    const number = focus ? alike(focus).indexOf(focus) : -1;
    const places = [...document.querySelectorAll('#live .scroll')]
      .map(one => [one, one.scrollLeft]);
    restore = () => {
      for (const [before, left] of places)
        for (const one of alike(before)) one.scrollLeft = left;
      if (number >= 0) alike(focus)[number]?.focus({preventScroll: true});
    };
  });
  document.addEventListener('htmx:afterSwap', () => restore());

  document.addEventListener('htmx:afterRequest', event => {
    const {successful, xhr} = event.detail;
    if (successful) readAt = Date.now();
    failed = successful ? '' : reason(xhr.responseText);
    tick();
  });

  function reason(text) {
    const page = new DOMParser().parseFromString(text, 'text/html');
    const error = page.querySelector('[role=alert] strong');
    return error ? error.textContent : 'the console does not answer';
  }

  function tick() {
    const isOld = failed || Date.now() - readAt > LATE;
    const text = isOld && document.querySelector('#live[hx-get]')
      ? 'Not read again since ' + new Date(readAt).toISOString().slice(11, 19)
        + ' UTC' + (failed && ': ' + failed)
      : '';
    // A screen reader speaks whenever it is set.
    if (note.textContent !== text) note.textContent = text;
    note.hidden = !text;
    document.body.classList.toggle('is-old', Boolean(text));
  }
  setInterval(tick, 1000);
})();
