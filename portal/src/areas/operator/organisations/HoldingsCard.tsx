import { Network } from 'lucide-react';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { Time } from '../../../components/Time.tsx';
import { messages } from '../../../messages/index.ts';
import { OwnerPill } from '../OwnerPill.tsx';
import type { Organisation } from '../queries.ts';

const text = messages.operator.organisations;

/** Prefixes by ASN, and addresses by service, present and future ones. */
export function HoldingsCard({ organisation }: { readonly organisation: Organisation }) {
  const { asns, holdings, services } = organisation;
  const nameOf = (id: number | null): string => {
    const service = services.find((each) => each.id === id);
    return service === undefined ? '' : text.service(service.id, service.name, service.active);
  };
  return (
    <section className="card" aria-label={text.holdingsTitle}>
      <div className="card-pad">
        <h2>{text.holdingsTitle}</h2>
        <p className="flat">{asns.length === 0 ? text.noAsns : text.asns(asns.join(', '))}</p>
      </div>
      {holdings.length === 0 ? (
        <EmptyState icon={Network} title={text.noHoldings.title} text={text.noHoldings.text} />
      ) : (
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{text.prefix}</th>
                <th scope="col">{text.by}</th>
                <th scope="col">{text.since}</th>
                <th scope="col">{text.until}</th>
                <th scope="col">{text.columns.owner}</th>
              </tr>
            </thead>
            <tbody>
              {holdings.map((each) => (
                <tr key={`${each.prefix} ${each.since}`}>
                  <td className="mono strong">{each.prefix}</td>
                  <td>{each.asn === null ? nameOf(each.service_id) : `AS${each.asn}`}</td>
                  <td className="dim nowrap">
                    <Time at={each.since} />
                  </td>
                  <td className="dim nowrap">
                    {each.until === null ? text.noEnd : <Time at={each.until} />}
                  </td>
                  <td>
                    <OwnerPill owner={each.owner} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
