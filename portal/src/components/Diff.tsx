import { messages } from '../messages/index.ts';

const text = messages.diff;
const MAX_SHOWN = 12;

interface Props {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** The difference between what is there after a change and was not before, and the reverse, a line each. */
export function Diff({ added, removed }: Props) {
  const lines = [
    ...removed.map((line) => ({ line, sign: '−', kind: 'removed' as const })),
    ...added.map((line) => ({ line, sign: '+', kind: 'added' as const })),
  ];
  if (lines.length === 0) return null;
  const more = lines.length - MAX_SHOWN;
  return (
    <ul className="diff mono">
      {lines.slice(0, MAX_SHOWN).map(({ line, sign, kind }, index) => (
        <li key={`${index}:${sign}${line}`} data-change={kind}>
          <span aria-hidden="true">{sign}</span>
          <span className="hidden">{text[kind]}</span>
          {line}
        </li>
      ))}
      {more > 0 && <li>{text.more(more)}</li>}
    </ul>
  );
}
