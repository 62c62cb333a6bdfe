import { Button, Checkbox, NumberInput, TextInput } from '@mantine/core';
import { Boxes, Plus } from 'lucide-react';
import { useState } from 'react';
import { ConfirmButton } from '../../../components/forms/ConfirmButton.tsx';
import { Loaded } from '../../../components/Loaded.tsx';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { Pill } from '../../../components/Pill.tsx';
import { WriteForm } from '../../../components/forms/WriteForm.tsx';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';
import { OwnerPill } from '../OwnerPill.tsx';
import { type Organisation, useDeclared } from '../queries.ts';

const text = operatorMessages.services;
type Service = Organisation['services'][number];

/** Services of the organisation, whose addresses are holdings. */
export function ServicesCard({ organisation }: { readonly organisation: Organisation }) {
  const { slug, services } = organisation;
  const [edited, setEdited] = useState<Service | 'new' | null>(null);
  return (
    <ListPanel
      title={text.title}
      isHeaded
      actions={
        <Button
          variant="default"
          leftSection={<Plus size={15} aria-hidden="true" />}
          onClick={() => setEdited('new')}
        >
          {text.add}
        </Button>
      }
      above={
        edited !== null && (
          <ServiceForm
            key={edited === 'new' ? 'new' : edited.id}
            slug={slug}
            service={edited === 'new' ? null : edited}
            onClose={() => setEdited(null)}
          />
        )
      }
      rows={services}
      empty={{ icon: Boxes, ...text.none }}
    >
      {(rows) => (
        <ul className="items">
          {rows.map((service) => (
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
                    <ConfirmButton
                      size="compact-sm"
                      aria-label={text.removeOf(service.name)}
                      title={text.removeTitle(service.name)}
                      question={text.removeText}
                      write={() =>
                        personClient.removeService({ organisation: slug, id: service.id })
                      }
                    >
                      {text.remove}
                    </ConfirmButton>
                  </>
                )}
              </div>
            </li>
          ))}
        </ul>
      )}
    </ListPanel>
  );
}

interface FormProps {
  readonly slug: string;
  readonly service: Service | null;
  onClose(): void;
}

/** Creates a service, or changes the one that was read. */
function ServiceForm({ slug, service, onClose }: FormProps) {
  return service === null ? (
    <ServiceFields
      label={text.add}
      initial={{ id: '', name: '', active: true }}
      write={({ id, name, active }) =>
        personClient.saveService(
          { organisation: slug, id: Number(id), body: { name: name.trim(), active } },
          { ifNoneMatch: '*' },
        )
      }
      onClose={onClose}
    />
  ) : (
    <ChangeService slug={slug} id={service.id} onClose={onClose} />
  );
}

function ChangeService({
  slug,
  id,
  onClose,
}: Pick<FormProps, 'slug' | 'onClose'> & { readonly id: number }) {
  const at = { organisation: slug, id };
  const service = useDeclared(['service', slug, id], (how) => personClient.readService(at, how));
  return (
    <Loaded query={service}>
      {({ data, response: { etag } }) => (
        <ServiceFields
          label={text.save}
          initial={{ id, name: data.name, active: data.active }}
          write={({ name, active }) =>
            personClient.changeService(
              { ...at, body: { name: name.trim(), active } },
              etag === null ? {} : { ifMatch: etag },
            )
          }
          onClose={onClose}
        />
      )}
    </Loaded>
  );
}

interface ServiceDraft {
  readonly id: number | '';
  readonly name: string;
  readonly active: boolean;
}

interface FieldsProps {
  readonly label: string;
  readonly initial: ServiceDraft;
  write(draft: ServiceDraft): Promise<unknown>;
  onClose(): void;
}

function ServiceFields({ label, initial, write, onClose }: FieldsProps) {
  return (
    <WriteForm
      label={label}
      layout="panel"
      initial={initial}
      submit={label}
      refusal={({ id, name }) => id === '' || name.trim() === ''}
      write={write}
      onDone={onClose}
      onCancel={onClose}
    >
      {({ getInputProps }) => (
        <>
          <div className="form-row">
            <NumberInput
              className="field-s"
              label={text.number}
              min={1}
              max={2_147_483_647}
              allowDecimal={false}
              hideControls
              readOnly={initial.id !== ''}
              required
              {...getInputProps('id')}
            />
            <TextInput
              className="field"
              autoFocus
              label={text.name}
              maxLength={200}
              required
              {...getInputProps('name')}
            />
          </div>
          <Checkbox
            size="sm"
            label={text.active}
            {...getInputProps('active', { type: 'checkbox' })}
          />
        </>
      )}
    </WriteForm>
  );
}
