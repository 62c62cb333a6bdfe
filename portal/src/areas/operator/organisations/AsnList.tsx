import { ActionIcon, Button, NumberInput } from '@mantine/core';
import { X } from 'lucide-react';
import { type SubmitEvent, useState } from 'react';
import { ProblemNotice } from '../../../components/forms/ProblemNotice.tsx';
import { useWrite } from '../../../components/forms/use-write.ts';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';
import type { Organisation } from '../queries.ts';

const text = operatorMessages.holdings;
const MAX_ASN = 4_294_967_294;

/** The ASNs that prefixes are announced under. */
export function AsnList({ organisation }: { readonly organisation: Organisation }) {
  const { slug, asns } = organisation;
  const [asn, setAsn] = useState<number | ''>('');
  const add = useWrite(
    (added: number) =>
      personClient.saveAsn({ asn: added, body: { organisation: slug } }, { ifNoneMatch: '*' }),
    { onDone: (_, added) => setAsn((now) => (now === added ? '' : now)) },
  );
  const remove = useWrite((removed: number) => personClient.removeAsn({ asn: removed }));
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (asn !== '') add.mutate(asn);
  };
  return (
    <form className="stack" onSubmit={submit}>
      <div className="row">
        {asns.map(({ asn: each, owner }) => (
          <span key={each} className="pill plain mono">
            AS{each}
            {owner === 'fleet' ? (
              <span className="dim">{operatorMessages.fleetFile}</span>
            ) : (
              <ActionIcon
                size="xs"
                variant="subtle"
                color="gray"
                aria-label={text.removeAsn(each)}
                onClick={() => remove.mutate(each)}
              >
                <X size={12} />
              </ActionIcon>
            )}
          </span>
        ))}
        <NumberInput
          aria-label={text.asn}
          placeholder={text.asn}
          size="xs"
          w={120}
          min={1}
          max={MAX_ASN}
          allowDecimal={false}
          hideControls
          value={asn}
          onChange={(value) => setAsn(value === '' ? '' : Number(value))}
        />
        <Button
          type="submit"
          variant="default"
          size="compact-sm"
          loading={add.isPending}
          disabled={asn === ''}
        >
          {text.addAsn}
        </Button>
      </div>
      <ProblemNotice error={add.error ?? remove.error} />
    </form>
  );
}
