import { Button, Checkbox } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Network, Plus } from 'lucide-react';
import { useState } from 'react';
import { Confirm } from '../../../components/Confirm.tsx';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { Time } from '../../../components/Time.tsx';
import { messages } from '../../../messages/index.ts';
import { personClient } from '../../../session/session.ts';
import { OwnerPill } from '../OwnerPill.tsx';
import { type Organisation, useRefreshOperator } from '../queries.ts';
import { AsnList } from './AsnList.tsx';
import { HoldingForm, isLosing } from './HoldingForm.tsx';

const text = messages.operator.holdings;
type Holding = Organisation['holdings'][number];

/** Prefixes by ASN, and addresses by service, present and future ones. */
export function HoldingsCard({ organisation }: { readonly organisation: Organisation }) {
  const { slug, holdings, services } = organisation;
  const [isAdding, setAdding] = useState(false);
  const [ended, setEnded] = useState<Holding | null>(null);
  const nameOf = (id: number | null): string => {
    const service = services.find((each) => each.id === id);
    return service === undefined ? '' : `#${service.id} ${service.name}`;
  };
  return (
    <section className="card" aria-label={text.title}>
      <div className="card-pad stack">
        <div className="row">
          <h2 className="flat">{text.title}</h2>
          <div className="row-end">
            <Button
              variant="default"
              leftSection={<Plus size={15} aria-hidden="true" />}
              onClick={() => setAdding(true)}
            >
              {text.give}
            </Button>
          </div>
        </div>
        <AsnList organisation={organisation} />
      </div>
      {isAdding && <HoldingForm organisation={organisation} onClose={() => setAdding(false)} />}
      {holdings.length === 0 ? (
        <EmptyState icon={Network} title={text.none.title} text={text.none.text} />
      ) : (
        <div className="scroll-x">
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{text.prefix}</th>
                <th scope="col">{text.by}</th>
                <th scope="col">{text.since}</th>
                <th scope="col">{text.until}</th>
                <th scope="col">{text.owner}</th>
                <th scope="col">
                  <span className="hidden">{text.actions}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {holdings.map((each) => (
                <tr key={each.id}>
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
                  <td className="num">
                    {each.owner !== 'fleet' && (
                      <Button
                        variant="default"
                        size="compact-sm"
                        aria-label={text.endOf(each.prefix)}
                        onClick={() => setEnded(each)}
                      >
                        {text.end}
                      </Button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {ended !== null && <EndHolding slug={slug} holding={ended} onClose={() => setEnded(null)} />}
    </section>
  );
}

interface EndProps {
  readonly slug: string;
  readonly holding: Holding;
  onClose(): void;
}

/** Ends it now; one that was never used goes without a trace. */
function EndHolding({ slug, holding: { id, prefix }, onClose }: EndProps) {
  const refresh = useRefreshOperator();
  const [allowsLosses, setAllowsLosses] = useState(false);
  const end = useMutation({
    mutationFn: () =>
      personClient.changeHolding({
        slug,
        holding: id,
        body: { end_now: true, allow_losses: allowsLosses },
      }),
    onSuccess: refresh,
  });
  return (
    <Confirm title={text.endTitle(prefix)} confirm={text.end} write={end} onClose={onClose}>
      <div className="stack">
        <span>{text.endText}</span>
        {isLosing(end.error) && (
          <Checkbox
            size="sm"
            label={text.allowLosses}
            checked={allowsLosses}
            onChange={(event) => setAllowsLosses(event.currentTarget.checked)}
          />
        )}
      </div>
    </Confirm>
  );
}
