import { MergeView, unifiedMergeView } from '@codemirror/merge';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { codeExtensions, colour, openShadow } from './code-editor.ts';

export interface MergeEditor {
  /** The text of the right side, or of the only one. */
  text(): string;
  dispose(): void;
}

interface Options {
  readonly before: string;
  readonly after: string;
  readonly name: string;
  readonly labels: Record<'before' | 'after', string>;
  /** Absent: nothing can be changed. */
  onSave?(): void;
}

/** Sides need room. */
const NARROW_PX = 720;

/** Two texts beside each other, or in one column where there is no room; the one after can be changed. */
export function createMergeEditor(host: HTMLElement, options: Options): MergeEditor {
  const { root, release } = openShadow(host);
  const { before, after, name, labels, onSave } = options;
  const isReadOnly = onSave === undefined;
  const language = new Compartment();
  const extensionsOf = (label: string, isFixed: boolean): Extension[] => [
    ...codeExtensions({
      label,
      isReadOnly: isFixed,
      onChange() {},
      onSave: onSave ?? (() => {}),
    }),
    language.of([]),
  ];
  const collapse = { margin: 3, minSize: 6 };
  if (host.clientWidth < NARROW_PX) {
    const view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: after,
        extensions: [
          ...extensionsOf(labels.after, isReadOnly),
          unifiedMergeView({
            original: before,
            mergeControls: !isReadOnly,
            collapseUnchanged: collapse,
          }),
        ],
      }),
    });
    void colour(view, language, name);
    return {
      text: () => view.state.doc.toString(),
      dispose() {
        view.destroy();
        release();
      },
    };
  }
  const merge = new MergeView({
    a: { doc: before, extensions: extensionsOf(labels.before, true) },
    b: { doc: after, extensions: extensionsOf(labels.after, isReadOnly) },
    root,
    parent: root,
    collapseUnchanged: collapse,
    ...(!isReadOnly && { revertControls: 'a-to-b' as const }),
  });
  for (const view of [merge.a, merge.b]) void colour(view, language, name);
  return {
    text: () => merge.b.state.doc.toString(),
    dispose() {
      merge.destroy();
      release();
    },
  };
}
