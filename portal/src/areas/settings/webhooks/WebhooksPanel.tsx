import type { WebhookSecret } from '@portcullis/client/index.ts';
import { Webhook as WebhookIcon } from 'lucide-react';
import { useState } from 'react';
import { ListPanel } from '../../../components/list/ListPanel.tsx';
import { SecretOnce } from '../../../components/SecretOnce.tsx';
import { webhookMessages } from '../../../messages/webhooks.ts';
import { useWebhooks } from './queries.ts';
import { WebhookCard } from './WebhookCard.tsx';
import { WebhookForm } from './WebhookForm.tsx';

const text = webhookMessages.webhooks;

/** Where the organisation's events are sent to. */
export default function WebhooksPanel() {
  const webhooks = useWebhooks();
  const [secret, setSecret] = useState<WebhookSecret['data'] | null>(null);
  return (
    <div className="stack">
      <ListPanel
        title={text.title}
        lead={text.lead}
        add={{
          label: text.create,
          needs: 'admin',
          form: (close) => <WebhookForm webhook={null} onClose={close} onSaved={setSecret} />,
        }}
        query={webhooks}
        rows={webhooks.data}
        empty={{ icon: WebhookIcon, ...text.empty }}
      />
      {webhooks.data?.map((webhook) => (
        <WebhookCard key={webhook.id} webhook={webhook} onSecret={setSecret} />
      ))}
      {secret !== null && (
        <SecretOnce title={text.secretTitle} secret={secret.secret} onClose={() => setSecret(null)}>
          {text.secretText}
        </SecretOnce>
      )}
    </div>
  );
}
