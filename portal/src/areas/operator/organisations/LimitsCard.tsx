import { Button, Checkbox, NumberInput, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { OrganisationInput } from '@portcullis/client/index.ts';
import { type SubmitEvent, useState } from 'react';
import { Notice } from '../../../components/Notice.tsx';
import { ProblemNotice } from '../../../components/ProblemNotice.tsx';
import { messages } from '../../../messages/index.ts';
import { personClient } from '../../../session/session.ts';
import { type Organisation, useRefreshOperator } from '../queries.ts';
import { type Flag, FLAGS, LIMITS } from './organisation-draft.ts';

const text = messages.operator.organisations;

/** Name, areas and limits; read-only where the fleet file owns them. */
export function LimitsCard({ organisation }: { readonly organisation: Organisation }) {
  const { slug, owner, name, flags, limits } = organisation;
  const [draft, setDraft] = useState<OrganisationInput>({ name, flags, limits });
  const isReadOnly = owner === 'fleet';
  const refresh = useRefreshOperator();
  const save = useMutation({
    mutationFn: () => personClient.saveOrganisation({ slug, body: draft }),
    onSuccess: refresh,
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    save.mutate();
  };
  const change = (part: Partial<OrganisationInput>): void => {
    save.reset();
    setDraft({ ...draft, ...part });
  };
  return (
    <section className="card card-pad" aria-label={text.limitsTitle}>
      <h2>{text.limitsTitle}</h2>
      <p>{text.limitsLead}</p>
      <form className="stack" onSubmit={submit}>
        <TextInput
          label={text.columns.name}
          value={draft.name}
          maxLength={200}
          readOnly={isReadOnly}
          onChange={(event) => change({ name: event.currentTarget.value })}
          required={!isReadOnly}
        />
        <Checkbox.Group
          label={text.columns.areas}
          value={[...draft.flags]}
          readOnly={isReadOnly}
          onChange={(chosen: Flag[]) => change({ flags: chosen })}
        >
          <div className="checks">
            {FLAGS.map((flag) => (
              <Checkbox
                key={flag}
                size="sm"
                value={flag}
                label={text.flags[flag]}
                disabled={isReadOnly}
              />
            ))}
          </div>
        </Checkbox.Group>
        <div className="limits">
          {LIMITS.map(([limit, min, max]) => (
            <NumberInput
              key={limit}
              label={text.limits[limit]}
              min={min}
              max={max}
              allowDecimal={false}
              clampBehavior="strict"
              thousandSeparator=","
              readOnly={isReadOnly}
              hideControls={isReadOnly}
              value={draft.limits[limit]}
              onChange={(value) =>
                change({ limits: { ...draft.limits, [limit]: Math.max(min, Number(value)) } })
              }
            />
          ))}
        </div>
        <ProblemNotice error={save.error} />
        {save.isSuccess && <Notice kind="ok">{text.saved}</Notice>}
        {!isReadOnly && (
          <div className="row">
            <Button type="submit" loading={save.isPending} disabled={draft.name.trim() === ''}>
              {text.save}
            </Button>
          </div>
        )}
      </form>
    </section>
  );
}
