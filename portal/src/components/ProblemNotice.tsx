import { ProblemError } from '@portcullis/client/index.ts';
import { Notice } from './Notice.tsx';

/** Why a write was refused, with each wrong field; nothing without an error. */
export function ProblemNotice({ error }: { readonly error: Error | null }) {
  if (error === null) return null;
  const errors = error instanceof ProblemError ? error.errors : [];
  return (
    <Notice kind="bad">
      {error.message}
      {errors.map(({ pointer, detail }) => (
        <p key={`${pointer} ${detail}`}>
          <span className="mono">{pointer?.slice(1)}</span> {detail}
        </p>
      ))}
    </Notice>
  );
}
