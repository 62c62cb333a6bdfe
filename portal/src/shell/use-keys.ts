import { useEffect } from 'react';
import { hasOpenModal } from '../components/open-modal.ts';

interface Keys {
  /** Whether the palette or the help is open or being loaded: what is typed then is meant for it. */
  readonly isCovered: boolean;
  openPalette(): void;
  openHelp(): void;
  go(letter: string): void;
}

/** How long the second key of a pair may take. */
const PAIR_MS = 1200;

/** The keys of every page: Ctrl+K, `?`, `/`, and `g` with the letter of an area. */
export function useKeys({ isCovered, openPalette, openHelp, go }: Keys): void {
  useEffect(() => {
    let pairUntil = 0;
    const onKey = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        openPalette();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (isCovered || hasOpenModal() || isTyping(event.target)) return;
      if (performance.now() < pairUntil) {
        pairUntil = 0;
        go(event.key);
      } else if (event.key === 'g') pairUntil = performance.now() + PAIR_MS;
      else if (event.key === '?') openHelp();
      else if (event.key === '/') focusSearch(event);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [isCovered, openPalette, openHelp, go]);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.closest('[role="dialog"]') !== null) return true;
  return target.matches('input:not([type="checkbox"]), textarea, select, [contenteditable="true"]');
}

function focusSearch(event: KeyboardEvent): void {
  const field = document.querySelector('[data-page-search]');
  if (!(field instanceof HTMLInputElement)) return;
  event.preventDefault();
  field.select();
}
