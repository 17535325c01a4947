//! Reads secrets as a JSON array. For each secret, prints the signature that the official library makes with it, or null: the
//! library refuses the secret.

use standardwebhooks::Webhook;

fn main() {
    let secrets: Vec<String> = serde_json::from_reader(std::io::stdin()).expect("no JSON array");
    let signed = |secret: &String| {
        let webhook = Webhook::new(secret).ok()?;
        Some(webhook.sign("id", 1, b"body").expect("no signature"))
    };
    let signatures: Vec<Option<String>> = secrets.iter().map(signed).collect();
    println!("{}", serde_json::json!(signatures));
}
