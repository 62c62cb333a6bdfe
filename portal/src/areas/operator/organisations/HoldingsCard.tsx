import { Checkbox } from '@mantine/core';
import { Network } from 'lucide-react';
import { ConfirmButton } from '../../../components/forms/ConfirmButton.tsx';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { timeColumn } from '../../../components/Time.tsx';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';
import { OwnerPill } from '../OwnerPill.tsx';
import type { Organisation } from '../queries.ts';
import { AsnList } from './AsnList.tsx';
import { HoldingForm, isLosing } from './HoldingForm.tsx';

const text = operatorMessages.holdings;
type Holding = Organisation['holdings'][number];

/** Prefixes by ASN, and addresses by service, present and future ones. */
export function HoldingsCard({ organisation }: { readonly organisation: Organisation }) {
  const { slug, holdings, services } = organisation;
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
          cell: (each) => each.owner !== 'fleet' && <EndHolding slug={slug} holding={each} />,
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
