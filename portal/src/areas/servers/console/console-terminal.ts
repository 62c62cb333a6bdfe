import { FitAddon } from '@xterm/addon-fit';
import { SearchAddon } from '@xterm/addon-search';
import { type ITerminalOptions, type ITheme, Terminal } from '@xterm/xterm';
import '@xterm/xterm/css/xterm.css';
import { colouredText } from '@portcullis/core/game-servers/console-text.ts';
import { withStrictStyles } from './strict-styles.ts';

/** A terminal that only shows lines: nothing that a game writes can do more than colour them. */
export interface ConsoleTerminal {
  write(lines: readonly string[]): void;
  /** Goes to the next match, or the one before; calls `onFound`. */
  find(text: string, direction: 'typed' | 'next' | 'previous'): void;
  toNewest(): void;
  /** All lines as plain text. */
  text(): string;
  setTheme(): void;
  dispose(): void;
}

interface Options {
  /** Said to those who do not see it. */
  readonly label: string;
  /** `at` from 1; 0 where there are more matches than are counted. */
  onFound(at: number, all: number): void;
}

const KEPT_LINES = 5_000;
const SCROLLS: Readonly<Record<string, (terminal: Terminal) => void>> = {
  ArrowUp: (terminal) => terminal.scrollLines(-1),
  ArrowDown: (terminal) => terminal.scrollLines(1),
  PageUp: (terminal) => terminal.scrollPages(-1),
  PageDown: (terminal) => terminal.scrollPages(1),
  Home: (terminal) => terminal.scrollToTop(),
  End: (terminal) => terminal.scrollToBottom(),
};

export function createConsoleTerminal(host: HTMLElement, options: Options): ConsoleTerminal {
  const terminal = new Terminal(settingsOf(host));
  const search = new SearchAddon();
  terminal.loadAddon(search);
  const release = withStrictStyles(() => terminal.open(host));
  terminal.textarea?.setAttribute('aria-label', options.label);
  terminal.textarea?.setAttribute('readonly', '');
  terminal.attachCustomKeyEventHandler((event) => scroll(terminal, event));
  search.onDidChangeResults(({ resultIndex, resultCount }) =>
    options.onFound(resultIndex + 1, resultCount),
  );
  const stopFitting = keepFitting(terminal, host);
  return {
    // The service has cleaned the lines; a terminal does not rely on that.
    write: (lines) =>
      terminal.write(lines.map((line) => `${colouredText(line)}\x1b[0m\r\n`).join('')),
    find(text, direction) {
      if (text === '') {
        search.clearDecorations();
        terminal.clearSelection();
        return;
      }
      const decorations = decorationsOf(host);
      if (direction === 'previous') search.findPrevious(text, { decorations });
      else search.findNext(text, { decorations, incremental: direction === 'typed' });
    },
    toNewest: () => terminal.scrollToBottom(),
    text: () => textOf(terminal),
    setTheme() {
      terminal.options.theme = themeOf(host);
    },
    dispose() {
      stopFitting();
      terminal.dispose();
      release();
    },
  };
}

function settingsOf(host: HTMLElement): ITerminalOptions {
  return {
    disableStdin: true,
    convertEol: true,
    scrollback: KEPT_LINES,
    fontFamily: getComputedStyle(host).fontFamily,
    fontSize: 13,
    lineHeight: 1.25,
    cursorInactiveStyle: 'none',
    cursorStyle: 'bar',
    cursorWidth: 1,
    minimumContrastRatio: 4.5,
    screenReaderMode: true,
    theme: themeOf(host),
    // Only for the marks of matches.
    allowProposedApi: true,
  };
}

function keepFitting(terminal: Terminal, host: HTMLElement): () => void {
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  fit.fit();
  const resized = new ResizeObserver(() => fit.fit());
  resized.observe(host);
  return () => resized.disconnect();
}

/** Keys scroll; all others stay the page's own, so that Tab leaves the terminal. */
function scroll(terminal: Terminal, event: KeyboardEvent): boolean {
  const move = SCROLLS[event.key];
  if (move !== undefined && event.type === 'keydown') {
    event.preventDefault();
    move(terminal);
  }
  return false;
}

function textOf(terminal: Terminal): string {
  const { active } = terminal.buffer;
  const lines: string[] = [];
  for (let row = 0; row < active.length; row += 1) {
    const line = active.getLine(row);
    if (line === undefined) continue;
    const text = line.translateToString(!active.getLine(row + 1)?.isWrapped);
    if (line.isWrapped) lines.push((lines.pop() ?? '') + text);
    else lines.push(text);
  }
  return lines.join('\n').trimEnd();
}

function colourOf(host: HTMLElement, name: string): string {
  return getComputedStyle(host).getPropertyValue(`--${name}`).trim();
}

function decorationsOf(host: HTMLElement) {
  const match = colourOf(host, 'terminal-match');
  const active = colourOf(host, 'terminal-match-active');
  return {
    matchBackground: match,
    matchOverviewRuler: match,
    activeMatchBackground: active,
    activeMatchColorOverviewRuler: active,
  };
}

const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const;

function themeOf(host: HTMLElement): ITheme {
  const background = colourOf(host, 'terminal');
  const theme: Record<string, string> = {
    background,
    foreground: colourOf(host, 'ink'),
    cursor: background,
    cursorAccent: background,
    selectionBackground: colourOf(host, 'terminal-selection'),
  };
  for (const colour of COLOURS) {
    theme[colour] = colourOf(host, `terminal-${colour}`);
    const bright = `bright${colour.charAt(0).toUpperCase()}${colour.slice(1)}`;
    theme[bright] = theme[colour];
  }
  return theme;
}
