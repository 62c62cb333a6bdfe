import { differenceOfTexts } from '@portcullis/core/text-difference.ts';
import { messages } from '../messages/index.ts';

interface Props {
  readonly before: string;
  readonly after: string;
  readonly label: string;
}

const KINDS = { '-': 'removed', '+': 'added' } as const;

/** The difference between two texts, a line each, with the lines around it. */
export function TextDiff({ before, after, label }: Props) {
  return (
    <ul className="diff text-diff mono" aria-label={label} tabIndex={0}>
      {differenceOfTexts(before, after).map(({ sign, text }, index) => {
        const kind = sign === '-' || sign === '+' ? KINDS[sign] : null;
        return (
          <li key={`${index}:${sign}`} {...(kind !== null && { 'data-change': kind })}>
            <span aria-hidden="true">{sign === '-' ? '−' : sign}</span>
            {kind !== null && <span className="hidden">{messages.diff[kind]}</span>}
            {text}
          </li>
        );
      })}
    </ul>
  );
}
