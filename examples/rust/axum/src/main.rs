//! Receptor de avisos de apientidades en axum, con la biblioteca oficial de Standard Webhooks.
//!
//!     RECEPTOR_SECRETO='whsec_…' cargo run --release
//!
//! Escucha solo en este equipo: el certificado es del servidor web que le pasa las peticiones (nginx, Apache…).

use std::collections::VecDeque;
use std::env;
use std::error::Error;
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::Router;
use serde_json::Value;
use standardwebhooks::Webhook;
use tokio::net::TcpListener;

const RECORDADOS: usize = 10_000; // avisos que se recuerdan, para no procesar dos veces una repetición

struct Receptor {
    webhook: Webhook,
    vistos: Mutex<VecDeque<String>>,
}

/// La biblioteca descodifica el base64 de un secreto whsec_…; en otro caso, la clave son los bytes del secreto.
fn verificador(secreto: String) -> Result<Webhook, Box<dyn Error>> {
    match secreto.trim() {
        "" | "whsec_" => Err("falta RECEPTOR_SECRETO: con una clave vacía firma cualquiera".into()),
        _ if secreto.starts_with("whsec_") => Ok(Webhook::new(&secreto)?),
        _ => Ok(Webhook::from_bytes(secreto.into_bytes())?),
    }
}

/// En su programa: un INSERT en su base de datos, con `webhook-id` como clave única.
fn es_nuevo(vistos: &mut VecDeque<String>, identificador: &str) -> bool {
    if vistos.iter().any(|visto| visto == identificador) {
        return false;
    }
    vistos.push_back(identificador.to_string());
    if vistos.len() > RECORDADOS {
        vistos.pop_front();
    }
    true
}

/// Se ejecuta en otro hilo, sin que la respuesta espere. Aquí va lo que su programa haga con el aviso.
fn procesar(identificador: &str, cuerpo: &[u8]) {
    match serde_json::from_slice::<Value>(cuerpo) {
        Ok(aviso) => println!(
            "procesado {identificador} {} {}",
            aviso["evento"].as_str().unwrap_or_default(),
            aviso["data"]
        ),
        Err(fallo) => eprintln!("no se ha podido procesar {identificador}: {fallo}"),
    }
}

/// `Bytes` es el cuerpo tal como llegó. axum no pasa de 2 MB.
async fn recibir(
    State(receptor): State<Arc<Receptor>>,
    cabeceras: HeaderMap,
    cuerpo: Bytes,
) -> StatusCode {
    // Comprueba su firma, y que la hora no difiera en más de 5 minutos de la de este equipo.
    if receptor.webhook.verify(&cuerpo, &cabeceras).is_err() {
        return StatusCode::UNAUTHORIZED;
    }
    let identificador = String::from_utf8_lossy(cabeceras["webhook-id"].as_bytes()).into_owned();
    if es_nuevo(&mut receptor.vistos.lock().unwrap(), &identificador) {
        tokio::task::spawn_blocking(move || procesar(&identificador, &cuerpo));
    }
    StatusCode::NO_CONTENT
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let receptor = Receptor {
        webhook: verificador(env::var("RECEPTOR_SECRETO").unwrap_or_default())?,
        vistos: Mutex::default(),
    };
    let rutas = Router::new()
        .route("/avisos", post(recibir))
        .with_state(Arc::new(receptor));
    let puerto = env::var("RECEPTOR_PUERTO").unwrap_or("8080".into());
    let escucha = TcpListener::bind(format!("127.0.0.1:{puerto}")).await?;
    axum::serve(escucha, rutas).await?;
    Ok(())
}
