import { ProblemError } from '@portcullis/client/index.ts';
import { Notice } from '../Notice.tsx';

interface Props {
  readonly error: Error | null;
  /** Whether a field says what is wrong at a pointer. */
  isElsewhere?(pointer: string | null): boolean;
}

/** Why a write was refused, with each wrong field; nothing without an error. */
export function ProblemNotice({ error, isElsewhere }: Props) {
  if (error === null) return null;
  const errors = error instanceof ProblemError ? error.errors : [];
  const here = errors.filter(({ pointer }) => isElsewhere?.(pointer ?? null) !== true);
  return (
    <Notice kind="bad">
      {error.message}
      {here.map(({ pointer, detail }) => (
        <p key={`${pointer} ${detail}`}>
          <span className="mono">{pointer?.slice(1)}</span> {detail}
        </p>
      ))}
    </Notice>
  );
}
