import type { KeyboardEvent } from 'react';
import { hasOpenModal } from '../../../../components/open-modal.ts';
import { all, NOTHING, step, toggle } from './selection.ts';
import type { Browser } from '../use-browser.ts';

const STEPS: Readonly<Record<string, number | 'first' | 'last'>> = {
  ArrowUp: -1,
  ArrowDown: 1,
  PageUp: -10,
  PageDown: 10,
  Home: 'first',
  End: 'last',
};

interface Place {
  /** The middle of the active row, where a menu opens. */
  menuPoint(): { readonly x: number; readonly y: number };
}

/** The keys of a file manager, while its table has the focus. */
export function useTableKeys(browser: Browser, { menuPoint }: Place) {
  const { entries, selection } = browser;
  const order = entries.map(({ path }) => path);
  const active = entries.find(({ path }) => path === selection.active);

  const acts: Readonly<Record<string, () => void>> = {
    Enter: () => active && browser.open(active),
    ' ': () => active && browser.select(toggle(selection, active.path)),
    Backspace: browser.up,
    Delete: browser.removeChosen,
    Escape: () => browser.select(NOTHING),
    F2() {
      if (active !== undefined && browser.refusal('rename', [active]) === null)
        browser.rename(active.path);
    },
    ContextMenu: () => openMenu(),
  };
  const openMenu = (): void => {
    if (active === undefined) return;
    if (!selection.chosen.has(active.path))
      browser.select({ ...selection, chosen: new Set([active.path]) });
    browser.openMenu(menuPoint());
  };

  return (event: KeyboardEvent): void => {
    // Fields and buttons of a row have keys of their own.
    if (event.target !== event.currentTarget || hasOpenModal()) return;
    const control = event.ctrlKey || event.metaKey;
    const act = actOf(event, control);
    if (act === undefined) return;
    event.preventDefault();
    // A menu that this key opens would take it for one outside of it, and close.
    event.stopPropagation();
    act();
  };

  function actOf(event: KeyboardEvent, control: boolean): (() => void) | undefined {
    const { key, shiftKey: shift, altKey } = event;
    if (control && key.toLowerCase() === 'a') return () => browser.select(all(order, selection));
    if (shift && key === 'F10') return openMenu;
    if (altKey) return key === 'ArrowUp' ? browser.up : undefined;
    const to = STEPS[key];
    if (to !== undefined)
      return () => browser.select(step(order, selection, to, { shift, control }));
    return control && key !== ' ' ? undefined : acts[key];
  }
}
