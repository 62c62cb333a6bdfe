/**
 * Whether a dialog covers the page. It takes the focus a moment after it is there, so until then keys go to what has
 * the focus below it, which must not act on them.
 */
export function hasOpenModal(): boolean {
  return document.querySelector('[aria-modal="true"]') !== null;
}
