import { Button, Checkbox, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { Webhook, WebhookSecret } from '@portcullis/client/index.ts';
import { parseCidr } from '@portcullis/core/net/cidr.ts';
import { parseWebhookUrl } from '@portcullis/core/webhooks/url.ts';
import { type SubmitEvent, useState } from 'react';
import { ProblemNotice } from '../../../components/ProblemNotice.tsx';
import { messages } from '../../../messages/index.ts';
import { usePeopleClient } from '../../../session/session.ts';
import { EVENTS, useRefreshWebhooks, type WebhookEvent } from './queries.ts';

const text = messages.webhooks;
/** The service knows which addresses are allowed, and says so. */
const ANYWHERE = ['0.0.0.0/0', '::/0'].flatMap((each) => {
  const parsed = parseCidr(each);
  return parsed.ok ? [parsed.value] : [];
});

interface Props {
  /** Null: a new one. */
  readonly webhook: Webhook | null;
  onClose(): void;
  /** With the secret of a new one. */
  onSaved(secret: WebhookSecret['data'] | null): void;
}

export function WebhookForm({ webhook, onClose, onSaved }: Props) {
  const client = usePeopleClient();
  const refresh = useRefreshWebhooks();
  const [name, setName] = useState(webhook?.name ?? '');
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [events, setEvents] = useState<readonly WebhookEvent[]>(
    EVENTS.filter((event) => webhook?.events.includes(event) ?? event.startsWith('attack.')),
  );
  const save = useMutation({
    mutationFn: async () => {
      const body = { name: name.trim(), url, events };
      if (webhook === null) return (await client.createWebhook({ body })).data;
      await client.saveWebhook({
        webhook: webhook.id,
        body: { ...body, enabled: webhook.enabled },
      });
      return null;
    },
    onSuccess(secret) {
      refresh();
      onSaved(secret);
    },
  });
  const parsed = parseWebhookUrl(url, ANYWHERE);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    save.mutate();
  };
  const label = webhook === null ? text.create : text.save;
  return (
    <form className="panel stack" aria-label={label} onSubmit={submit}>
      <div className="form-row">
        <TextInput
          className="field"
          autoFocus
          label={text.name}
          placeholder={text.namePlaceholder}
          value={name}
          maxLength={100}
          onChange={(event) => setName(event.currentTarget.value)}
          required
        />
        <TextInput
          className="field field-wide"
          label={text.url}
          placeholder="https://hooks.example.net/portcullis"
          value={url}
          maxLength={2048}
          error={url === '' || parsed.ok ? null : parsed.reason}
          onChange={(event) => setUrl(event.currentTarget.value.trim())}
          spellCheck={false}
          required
        />
      </div>
      <Checkbox.Group
        label={text.events}
        value={[...events]}
        onChange={(chosen: WebhookEvent[]) => setEvents(chosen)}
      >
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
      <ProblemNotice error={save.error} />
      <div className="row">
        <Button
          type="submit"
          loading={save.isPending}
          disabled={name.trim() === '' || !parsed.ok || events.length === 0}
        >
          {label}
        </Button>
        <Button variant="subtle" color="gray" onClick={onClose}>
          {messages.cancel}
        </Button>
      </div>
    </form>
  );
}
