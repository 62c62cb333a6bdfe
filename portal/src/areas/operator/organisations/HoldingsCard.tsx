import { Checkbox } from '@mantine/core';
import { Network } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import { ConfirmButton } from '../../../components/forms/ConfirmButton.tsx';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { RoleButton } from '../../../components/RoleButton.tsx';
import { timeColumn } from '../../../components/Time.tsx';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';
import { OwnerPill } from '../OwnerPill.tsx';
import type { Organisation } from '../queries.ts';
import { AsnList } from './AsnList.tsx';
import { HoldingForm, isLosing } from './HoldingForm.tsx';

const ChangeHolding = lazy(() => import('./ChangeHolding.tsx'));
const text = operatorMessages.holdings;
type Holding = Organisation['holdings'][number];

/** Prefixes by ASN, and addresses by service, present and future ones. */
export function HoldingsCard({ organisation }: { readonly organisation: Organisation }) {
  const { slug, holdings, services } = organisation;
  const [changed, setChanged] = useState<Holding | null>(null);
  const nameOf = (id: number | null): string => {
    const service = services.find((each) => each.id === id);
    return service === undefined ? '' : `#${service.id} ${service.name}`;
  };
  return (
    <ListPanel<Holding>
      title={text.title}
      isHeaded
      add={{
        label: text.give,
        form: (close) => <HoldingForm organisation={organisation} onClose={close} />,
      }}
      filter={<AsnList organisation={organisation} />}
      above={
        changed && (
          <Suspense>
            <ChangeHolding key={changed.id} holding={changed} onClose={() => setChanged(null)} />
          </Suspense>
        )
      }
      rows={holdings}
      empty={{ icon: Network, ...text.none }}
      keyOf={({ id }) => id}
      columns={[
        { title: text.prefix, className: 'mono strong', cell: ({ prefix }) => prefix },
        {
          title: text.by,
          cell: ({ asn, service }) =>
            asn === null ? (service === null ? text.noAsn : nameOf(service)) : `AS${asn}`,
        },
        timeColumn(text.since, ({ since }) => since),
        timeColumn(text.until, ({ until }) => until, text.noEnd),
        { title: text.owner, cell: ({ owner }) => <OwnerPill owner={owner} /> },
        {
          title: text.actions,
          isTitleHidden: true,
          isNumber: true,
          cell: (each) => (
            <div className="row row-actions">
              <RoleButton
                variant="default"
                size="compact-sm"
                aria-label={text.changeOf(each.prefix)}
                refusal={each.owner === 'fleet' ? text.ofFleet : null}
                onClick={() => setChanged(each)}
              >
                {text.change}
              </RoleButton>
              {each.owner !== 'fleet' && <EndHolding slug={slug} holding={each} />}
            </div>
          ),
        },
      ]}
    />
  );
}

interface EndProps {
  readonly slug: string;
  readonly holding: Holding;
}

/** Ends it now; one that was never used goes without a trace. */
function EndHolding({ slug, holding: { id, prefix } }: EndProps) {
  return (
    <ConfirmButton
      size="compact-sm"
      aria-label={text.endOf(prefix)}
      title={text.endTitle(prefix)}
      initial={{ allowsLosses: false }}
      question={({ getInputProps }, error) => (
        <>
          <span>{text.endText}</span>
          {isLosing(error) && (
            <Checkbox
              size="sm"
              label={text.allowLosses}
              {...getInputProps('allowsLosses', { type: 'checkbox' })}
            />
          )}
        </>
      )}
      write={({ allowsLosses }) => {
        const query = { allow_losses: allowsLosses };
        return personClient.removeHolding({ organisation: slug, id, query });
      }}
    >
      {text.end}
    </ConfirmButton>
  );
}
