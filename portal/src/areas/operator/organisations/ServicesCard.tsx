import { Button, Checkbox, NumberInput, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Boxes, Plus } from 'lucide-react';
import { type SubmitEvent, useState } from 'react';
import { Confirm } from '../../../components/Confirm.tsx';
import { EmptyState } from '../../../components/EmptyState.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { ProblemNotice } from '../../../components/ProblemNotice.tsx';
import { messages } from '../../../messages/index.ts';
import { personClient } from '../../../session/session.ts';
import { OwnerPill } from '../OwnerPill.tsx';
import { type Organisation, useRefreshOperator } from '../queries.ts';
import { useOrganisationWrite } from './use-organisation-write.ts';

const text = messages.operator.services;
type Service = Organisation['services'][number];

/** Services of the organisation, whose addresses are holdings. */
export function ServicesCard({ organisation }: { readonly organisation: Organisation }) {
  const { slug, services } = organisation;
  const [edited, setEdited] = useState<Service | 'new' | null>(null);
  const [removed, setRemoved] = useState<Service | null>(null);
  return (
    <section className="card" aria-label={text.title}>
      <div className="row card-pad">
        <h2 className="flat">{text.title}</h2>
        <div className="row-end">
          <Button
            variant="default"
            leftSection={<Plus size={15} aria-hidden="true" />}
            onClick={() => setEdited('new')}
          >
            {text.add}
          </Button>
        </div>
      </div>
      {edited !== null && (
        <ServiceForm
          key={edited === 'new' ? 'new' : edited.id}
          slug={slug}
          service={edited === 'new' ? null : edited}
          onClose={() => setEdited(null)}
        />
      )}
      {services.length === 0 ? (
        <EmptyState icon={Boxes} title={text.none.title} text={text.none.text} />
      ) : (
        <ul className="items">
          {services.map((service) => (
            <li key={service.id}>
              <div>
                <span className="strong">{service.name}</span>{' '}
                <span className="dim mono">#{service.id}</span>
                <div className="dim">
                  {text.filters(service.managed_filters.map(({ type }) => type).join(', '))}
                </div>
              </div>
              <div className="row-end">
                {!service.active && <Pill tone="neutral">{text.inactive}</Pill>}
                <OwnerPill owner={service.owner} />
                {service.owner !== 'fleet' && (
                  <>
                    <Button
                      variant="default"
                      size="compact-sm"
                      aria-label={text.editOf(service.name)}
                      onClick={() => setEdited(service)}
                    >
                      {text.edit}
                    </Button>
                    <Button
                      variant="default"
                      size="compact-sm"
                      aria-label={text.removeOf(service.name)}
                      onClick={() => setRemoved(service)}
                    >
                      {text.remove}
                    </Button>
                  </>
                )}
              </div>
            </li>
          ))}
        </ul>
      )}
      {removed !== null && (
        <RemoveService slug={slug} service={removed} onClose={() => setRemoved(null)} />
      )}
    </section>
  );
}

interface FormProps {
  readonly slug: string;
  readonly service: Service | null;
  onClose(): void;
}

function ServiceForm({ slug, service, onClose }: FormProps) {
  const [id, setId] = useState<number | ''>(service?.id ?? '');
  const [name, setName] = useState(service?.name ?? '');
  const [active, setActive] = useState(service?.active ?? true);
  const save = useOrganisationWrite(
    () =>
      personClient.saveService({ slug, service: Number(id), body: { name: name.trim(), active } }),
    onClose,
  );
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    save.mutate(undefined);
  };
  const label = service === null ? text.add : text.save;
  return (
    <form className="panel stack" aria-label={label} onSubmit={submit}>
      <div className="form-row">
        <NumberInput
          className="field-s"
          label={text.number}
          min={1}
          max={2_147_483_647}
          allowDecimal={false}
          hideControls
          readOnly={service !== null}
          value={id}
          onChange={(value) => setId(value === '' ? '' : Number(value))}
          required
        />
        <TextInput
          className="field"
          autoFocus
          label={text.name}
          value={name}
          maxLength={200}
          onChange={(event) => setName(event.currentTarget.value)}
          required
        />
      </div>
      <Checkbox
        size="sm"
        label={text.active}
        checked={active}
        onChange={(event) => setActive(event.currentTarget.checked)}
      />
      <ProblemNotice error={save.error} />
      <div className="row">
        <Button type="submit" loading={save.isPending} disabled={id === '' || name.trim() === ''}>
          {label}
        </Button>
        <Button variant="subtle" color="gray" onClick={onClose}>
          {messages.cancel}
        </Button>
      </div>
    </form>
  );
}

interface RemoveProps {
  readonly slug: string;
  readonly service: Service;
  onClose(): void;
}

function RemoveService({ slug, service, onClose }: RemoveProps) {
  const refresh = useRefreshOperator();
  const remove = useMutation({
    mutationFn: () => personClient.removeService({ slug, service: service.id }),
    onSuccess: refresh,
  });
  return (
    <Confirm
      title={text.removeTitle(service.name)}
      confirm={text.remove}
      write={remove}
      onClose={onClose}
    >
      {text.removeText}
    </Confirm>
  );
}
