import { Checkbox, TextInput } from '@mantine/core';
import type { Webhook, WebhookSecret } from '@portcullis/client/index.ts';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import { webhookFormat } from '@portcullis/core/webhooks/format.ts';
import { parseWebhookUrl } from '@portcullis/core/webhooks/url.ts';
import { sentenceOf } from '../../../components/forms/field-errors.ts';
import { WriteForm } from '../../../components/forms/WriteForm.tsx';
import { webhookMessages } from '../../../messages/webhooks.ts';
import { usePeopleClient } from '../../../session/session.ts';
import { EVENTS, isSigned } from './queries.ts';

const text = webhookMessages.webhooks;
/** The service knows which addresses are allowed, and says so. */
const ANYWHERE = ['0.0.0.0/0', '::/0', '127.0.0.0/8', '::1/128'].flatMap((each) => {
  const parsed = parseCidr(each);
  return parsed.ok ? [parsed.value] : [];
});

interface Props {
  /** Null: a new one. */
  readonly webhook: Webhook | null;
  onClose(): void;
  /** With the secret of a new one. */
  onSaved?(secret: WebhookSecret['data'] | null): void;
}

export function WebhookForm({ webhook, onClose, onSaved }: Props) {
  const client = usePeopleClient();
  const label = webhook === null ? text.create : text.save;
  return (
    <WriteForm
      label={label}
      layout="panel"
      initial={{
        name: webhook?.name ?? '',
        url: webhook?.url ?? '',
        events: EVENTS.filter(
          (event) => webhook?.events.includes(event) ?? event.startsWith('attack.'),
        ),
      }}
      refusal={({ name, url, events }) =>
        name.trim() === '' || mistakeOf(url) !== null || events.length === 0
      }
      write={async ({ name, url, events }) => {
        const body = { name: name.trim(), url: url.trim(), events };
        if (webhook === null) {
          const { data } = await client.createWebhook({ body });
          return isSigned(webhookFormat(body.url)) ? data : null;
        }
        const { id, enabled } = webhook;
        await client.saveWebhook({ webhook: id, body: { ...body, enabled } });
        return null;
      }}
      onDone={(secret) => {
        onSaved?.(secret);
        onClose();
      }}
      onCancel={onClose}
      submit={label}
    >
      {(form) => {
        const url = form.getInputProps('url');
        return (
          <>
            <div className="form-row">
              <TextInput
                className="field"
                autoFocus
                label={text.name}
                placeholder={text.namePlaceholder}
                maxLength={100}
                required
                {...form.getInputProps('name')}
              />
              <TextInput
                className="field field-wide"
                label={text.url}
                placeholder="https://hooks.example.net/portcullis"
                maxLength={2048}
                spellCheck={false}
                required
                {...url}
                error={(form.values.url !== '' && mistakeOf(form.values.url)) || url.error}
              />
            </div>
            <Checkbox.Group label={text.events} {...form.getInputProps('events')}>
              <div className="checks">
                {EVENTS.map((event) => (
                  <Checkbox
                    key={event}
                    size="sm"
                    value={event}
                    label={text.eventNames[event]}
                    description={<span className="mono">{event}</span>}
                  />
                ))}
              </div>
            </Checkbox.Group>
          </>
        );
      }}
    </WriteForm>
  );
}

function mistakeOf(url: string): string | null {
  const parsed = parseWebhookUrl(url.trim(), ANYWHERE);
  return parsed.ok ? null : sentenceOf(parsed.reason);
}
