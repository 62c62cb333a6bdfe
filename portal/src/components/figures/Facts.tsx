import type { ReactNode } from 'react';

export interface Fact {
  readonly name: string;
  /** Null: unknown. */
  readonly value: ReactNode;
  readonly hint?: ReactNode;
  /** How much of its limit is used, from 0 to 1, and what is said of that. */
  readonly use?: { readonly share: number; readonly label: string } | null;
}

/** A few numbers above a page, each with its name. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl className="facts">
      {facts.map(({ name, value, hint, use }) => (
        <div key={name} className="fact">
          <dt>{name}</dt>
          <dd>
            {value ?? '–'} {(hint ?? null) !== null && <small>{hint}</small>}
          </dd>
          {use && (
            <dd className="use">
              <meter
                aria-label={use.label}
                min={0}
                max={1}
                high={0.9}
                optimum={0}
                value={Math.min(1, use.share)}
              />
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}
