import { MergeView, unifiedMergeView } from '@codemirror/merge';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { filesMessages } from '../../../../messages/files.ts';
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

const COLLAPSE = { margin: 3, minSize: 6 };

/** Two texts beside each other, or in one column where there is no room; the one after can be changed. */
export function createMergeEditor(host: HTMLElement, options: Options): MergeEditor {
  const { root, release } = openShadow(host);
  const language = new Compartment();
  const made =
    host.clientWidth < NARROW_PX
      ? createColumn(root, options, language)
      : createSides(root, options, language);
  for (const view of made.views) void colour(view, language, options.name);
  return {
    text: () => made.after.state.doc.toString(),
    dispose() {
      made.destroy();
      release();
    },
  };
}

interface Made {
  readonly views: readonly EditorView[];
  readonly after: EditorView;
  destroy(): void;
}

function createColumn(root: ShadowRoot, options: Options, language: Compartment): Made {
  const { before, after, labels, onSave } = options;
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: after,
      extensions: [
        ...extensionsOf(options, labels.after, onSave === undefined),
        language.of([]),
        EditorState.phrases.of(filesMessages.conflict.phrases),
        unifiedMergeView({
          original: before,
          mergeControls: onSave !== undefined,
          collapseUnchanged: COLLAPSE,
        }),
      ],
    }),
  });
  return { views: [view], after: view, destroy: () => view.destroy() };
}

function createSides(root: ShadowRoot, options: Options, language: Compartment): Made {
  const { before, after, labels, onSave } = options;
  const isReadOnly = onSave === undefined;
  const merge = new MergeView({
    a: {
      doc: before,
      extensions: [...extensionsOf(options, labels.before, true), language.of([])],
    },
    b: {
      doc: after,
      extensions: [...extensionsOf(options, labels.after, isReadOnly), language.of([])],
    },
    root,
    parent: root,
    collapseUnchanged: COLLAPSE,
    ...(!isReadOnly && { revertControls: 'a-to-b' as const }),
  });
  return { views: [merge.a, merge.b], after: merge.b, destroy: () => merge.destroy() };
}

function extensionsOf(
  { onSave = () => {} }: Options,
  label: string,
  isReadOnly: boolean,
): Extension[] {
  return codeExtensions({ label, isReadOnly, onChange() {}, onSave });
}
