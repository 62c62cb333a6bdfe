import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { bracketMatching, foldGutter, foldKeymap, indentOnInput } from '@codemirror/language';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState, type Extension, type Text } from '@codemirror/state';
import {
  drawSelection,
  dropCursor,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  rectangularSelection,
} from '@codemirror/view';
import { codeTheme } from './code-theme.ts';
import { languageOf } from './file-kind.ts';
import { loadLanguage } from './languages.ts';

/** The text of an editor at a moment. */
export interface EditorMark {
  readonly text: string;
  readonly doc: Text;
}

export interface CodeEditor {
  text(): string;
  mark(): EditorMark;
  /** The text at that moment is now on the disk. */
  setSaved(mark: EditorMark): void;
  dispose(): void;
}

interface Options {
  /** Its lines end with `\n`. */
  readonly text: string;
  /** The name of the file, which decides the language. */
  readonly name: string;
  /** Said to those who do not see it. */
  readonly label: string;
  readonly isReadOnly: boolean;
  /** The line that is shown first. */
  readonly line: number | null;
  /** Whether it holds something else than what lies on the disk. */
  onChange(isChanged: boolean): void;
  onSave(): void;
}

export function createCodeEditor(host: HTMLElement, options: Options): CodeEditor {
  const { root, release } = openShadow(host);
  const language = new Compartment();
  const report = (): void => options.onChange(!view.state.doc.eq(saved));
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: options.text,
      extensions: [...codeExtensions({ ...options, onChange: report }), language.of([])],
    }),
  });
  let saved = view.state.doc;
  void colour(view, language, options.name);
  if (options.line !== null) showLine(view, options.line);
  view.focus();
  return {
    text: () => view.state.doc.toString(),
    mark: () => ({ text: view.state.doc.toString(), doc: view.state.doc }),
    setSaved(mark) {
      saved = mark.doc;
      report();
    },
    dispose() {
      view.destroy();
      release();
    },
  };
}

interface CodeOptions extends Pick<Options, 'label' | 'isReadOnly' | 'onSave'> {
  onChange(): void;
}

/** The parts of every editor of the portal: keys, search, numbers of lines, the theme. */
export function codeExtensions({ label, isReadOnly, onChange, onSave }: CodeOptions): Extension[] {
  const save = (): boolean => {
    onSave();
    return true;
  };
  return [
    lineNumbers(),
    highlightActiveLineGutter(),
    highlightSpecialChars(),
    history(),
    foldGutter(),
    drawSelection(),
    dropCursor(),
    EditorState.allowMultipleSelections.of(true),
    EditorState.readOnly.of(isReadOnly),
    indentOnInput(),
    bracketMatching(),
    rectangularSelection(),
    highlightActiveLine(),
    highlightSelectionMatches(),
    search({ top: true }),
    keymap.of([
      { key: 'Mod-s', run: save, preventDefault: true },
      ...defaultKeymap,
      ...searchKeymap,
      ...historyKeymap,
      ...foldKeymap,
      indentWithTab,
    ]),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': label }),
    EditorView.updateListener.of(({ docChanged }) => {
      if (docChanged) onChange();
    }),
    codeTheme,
  ];
}

/** Loads the language of a name, and gives it to an editor that is there already. */
export async function colour(
  view: EditorView,
  compartment: Compartment,
  name: string,
): Promise<void> {
  const language = languageOf(name);
  if (language === null) return;
  const extension = await loadLanguage(language);
  view.dispatch({ effects: compartment.reconfigure(extension) });
}

/**
 * A shadow tree for an editor. There its style sheets are adopted ones, which the policy of the page allows; in the page
 * itself they would be `<style>` elements, which it refuses. Keys stay inside, but for those of the browser and the page
 * that have Control: the page would take letters for its own.
 */
export function openShadow(host: HTMLElement): { readonly root: ShadowRoot; release(): void } {
  const element = document.createElement('div');
  element.className = 'code-root';
  element.addEventListener('keydown', (event) => {
    if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
  });
  host.append(element);
  return { root: element.attachShadow({ mode: 'open' }), release: () => element.remove() };
}

function showLine(view: EditorView, line: number): void {
  const { doc } = view.state;
  const { from } = doc.line(Math.max(1, Math.min(doc.lines, line)));
  view.dispatch({
    selection: { anchor: from },
    effects: EditorView.scrollIntoView(from, { y: 'center' }),
  });
}
