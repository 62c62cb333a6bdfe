import { Pill } from '../../../components/Pill.tsx';
import { formatAgo, formatMoment } from '../../../format.ts';
import { messages } from '../../../messages/index.ts';

interface Props {
  readonly marks: {
    readonly ref?: string | null;
    readonly expires_at?: string | null;
  };
}

/** The end and the name of a rule or a filter. */
export function MarksShown({ marks: { ref = null, expires_at: ends = null } }: Props) {
  return (
    <>
      {ends !== null && (
        <span title={formatMoment(new Date(ends))}>
          <Pill tone="warn" plain>
            {messages.notes.ends(formatAgo(new Date(ends), new Date()))}
          </Pill>
        </span>
      )}
      {ref !== null && <span className="mono dim">{ref}</span>}
    </>
  );
}
