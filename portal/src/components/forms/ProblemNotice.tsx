import { ProblemError } from '@portcullis/client/index.ts';
import { messages } from '../../messages/index.ts';
import { Notice } from '../Notice.tsx';

const text = messages.errors;

interface Props {
  readonly error: Error | null;
  /** Whether a field says what is wrong at a pointer. */
  isElsewhere?(pointer: string | null): boolean;
}

/** Why a write was refused, with each wrong field; nothing without an error, or where the fields say all of it. */
export function ProblemNotice({ error, isElsewhere }: Props) {
  if (error === null) return null;
  const errors = error instanceof ProblemError ? error.errors : [];
  const here = errors.filter(({ pointer }) => isElsewhere?.(pointer ?? null) !== true);
  if (errors.length > 0 && here.length === 0) return <Notice kind="bad">{text.marked}</Notice>;
  // The message of a single mistake is the mistake itself.
  const more = here.filter(({ detail }) => !error.message.includes(detail));
  return (
    <Notice kind="bad">
      {error.message}
      {more.map(({ pointer, detail }) => (
        <p key={`${pointer} ${detail}`}>
          <span className="mono">{pointer?.slice(1)}</span> {detail}
        </p>
      ))}
    </Notice>
  );
}
