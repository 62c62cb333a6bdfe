import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

const MONO = 'var(--mantine-font-family-monospace)';

/** The tokens of the portal's theme, which change with light and dark by themselves. */
const look = EditorView.theme({
  '&': { color: 'var(--ink)', backgroundColor: 'var(--terminal)', height: '100%' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: MONO, fontSize: '0.8125rem', lineHeight: '1.55' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor, .cm-dropCursor': { borderLeftColor: 'var(--ink)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground':
    {
      backgroundColor: 'var(--terminal-selection)',
    },
  '.cm-gutters': {
    backgroundColor: 'var(--surface-sunken)',
    color: 'var(--ink-dim)',
    borderRight: '1px solid var(--line)',
  },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--accent-tint)' },
  '.cm-selectionMatch': { backgroundColor: 'var(--terminal-match)' },
  '.cm-searchMatch': { backgroundColor: 'var(--terminal-match)' },
  '.cm-searchMatch-selected': { backgroundColor: 'var(--terminal-match-active)' },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': {
    backgroundColor: 'var(--accent-tint)',
    outline: '1px solid var(--line-strong)',
  },
  '.cm-foldPlaceholder': {
    backgroundColor: 'var(--surface-sunken)',
    borderColor: 'var(--line-strong)',
    color: 'var(--ink-dim)',
  },
  '.cm-panels': {
    backgroundColor: 'var(--surface-sunken)',
    color: 'var(--ink)',
    borderColor: 'var(--line)',
  },
  '.cm-panels .cm-button, .cm-panels .cm-textfield': {
    backgroundImage: 'none',
    backgroundColor: 'var(--surface)',
    color: 'var(--ink)',
    border: '1px solid var(--line-strong)',
    borderRadius: '4px',
    padding: '3px 8px',
    fontSize: '0.8125rem',
  },
  '.cm-panels label': { fontSize: '0.8125rem' },
  '.cm-deletedChunk .cm-chunkButtons button[name=accept], .cm-deletedChunk .cm-chunkButtons button[name=reject]':
    {
      background: 'var(--surface)',
      color: 'var(--ink)',
      border: '1px solid var(--line-strong)',
    },
  '.cm-changedLine': { backgroundColor: 'var(--warn-tint)' },
  '.cm-deletedChunk': { backgroundColor: 'var(--bad-tint)' },
  '&.cm-merge-a .cm-changedLine': { backgroundColor: 'var(--bad-tint)' },
  '&.cm-merge-b .cm-changedLine, .cm-inlineChangedLine': { backgroundColor: 'var(--ok-tint)' },
  '&.cm-merge-a .cm-changedText, .cm-deletedChunk .cm-deletedText': {
    background: 'none',
    boxShadow: 'inset 0 -2px var(--bad)',
  },
  '&.cm-merge-b .cm-changedText': { background: 'none', boxShadow: 'inset 0 -2px var(--ok)' },
});

const colours = HighlightStyle.define([
  { tag: tags.comment, color: 'var(--ink-dim)', fontStyle: 'italic' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--terminal-green)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--terminal-magenta)' },
  { tag: [tags.keyword, tags.operatorKeyword, tags.tagName], color: 'var(--terminal-blue)' },
  {
    tag: [tags.propertyName, tags.attributeName, tags.definition(tags.propertyName)],
    color: 'var(--terminal-blue)',
  },
  { tag: [tags.variableName, tags.definition(tags.variableName)], color: 'var(--terminal-cyan)' },
  { tag: [tags.meta, tags.heading, tags.typeName], color: 'var(--terminal-yellow)' },
  { tag: tags.heading, fontWeight: '600' },
  { tag: tags.invalid, color: 'var(--terminal-red)' },
]);

export const codeTheme: Extension = [look, syntaxHighlighting(colours)];
