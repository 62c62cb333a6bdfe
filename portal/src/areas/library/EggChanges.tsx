import type { ReadEgg } from '@portcullis/client/index.ts';
import { TextDiff } from '../../components/TextDiff.tsx';
import { libraryMessages as text } from '../../messages/library.ts';

type Change = NonNullable<ReadEgg['data']['change']>;

/** The parts of an egg that a newer one has otherwise, each with its lines. */
export function EggChanges({ fields }: Pick<Change, 'fields'>) {
  if (fields.length === 0) return <p className="dim">{text.update.unseen}</p>;
  return (
    <div className="stack">
      <p className="strong">{text.update.fields(fields.length)}</p>
      {fields.map(({ field, before, after }) => (
        <div key={field}>
          <div>
            {nameOf(field)} {before === null && <span className="dim">{text.isNew}</span>}
            {after === null && <span className="dim">{text.isGone}</span>}
          </div>
          <TextDiff label={nameOf(field)} before={before ?? ''} after={after ?? ''} />
        </div>
      ))}
    </div>
  );
}

function nameOf(field: string): string {
  const [area = '', ...rest] = field.split('.');
  if (area === 'variables') return text.variable(rest.join('.'));
  if (area === 'files') return text.file(rest.join('.'));
  return text.fieldNames[field] ?? field;
}
