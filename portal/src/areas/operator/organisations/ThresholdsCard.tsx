import { messages } from '../../../messages/index.ts';
import type { Organisation } from '../queries.ts';

const text = messages.operator.organisations;

/** When traffic of the organisation is an attack, as far as it differs from the defaults. */
export function ThresholdsCard({ organisation }: { readonly organisation: Organisation }) {
  const set = Object.entries(organisation.thresholds).filter(
    ([, value]) => value !== null && !(Array.isArray(value) && value.length === 0),
  );
  return (
    <section className="card card-pad" aria-label={text.thresholdsTitle}>
      <h2>{text.thresholdsTitle}</h2>
      <p>{text.thresholdsLead}</p>
      {set.length === 0 ? (
        <p className="dim flat">{text.noThresholds}</p>
      ) : (
        <dl className="terms">
          {set.map(([name, value]) => (
            <div key={name}>
              <dt>{text.threshold(name)}</dt>
              <dd className="mono">{Array.isArray(value) ? value.join(', ') : String(value)}</dd>
            </div>
          ))}
        </dl>
      )}
    </section>
  );
}
