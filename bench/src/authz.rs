//! The peer that decides outside Envoy: an `ext_authz` server with the same keys in a hash table.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use envoy_types::pb::envoy::config::core::v3::{HeaderValue, HeaderValueOption};
use envoy_types::pb::envoy::service::auth::v3::authorization_server::{Authorization, AuthorizationServer};
use envoy_types::pb::envoy::service::auth::v3::check_response::HttpResponse;
use envoy_types::pb::envoy::service::auth::v3::{
    CheckRequest, CheckResponse, DeniedHttpResponse, OkHttpResponse,
};
use envoy_types::pb::envoy::r#type::v3::{HttpStatus, StatusCode};
use envoy_types::pb::google::rpc;
use tonic::{Code, Request, Response, Status};

use crate::keys;

struct Authz {
    identities: HashMap<String, String>,
}

/// Serves until it is killed.
pub(crate) async fn serve(port: u16, count: usize) -> anyhow::Result<()> {
    let identities = (0..count).map(|number| (keys::known(number), keys::identity(number))).collect();
    let service = AuthorizationServer::new(Authz { identities });
    let address = (Ipv4Addr::LOCALHOST, port).into();
    tonic::transport::Server::builder().tcp_nodelay(true).add_service(service).serve(address).await?;
    Ok(())
}

fn answer(code: Code, response: HttpResponse) -> CheckResponse {
    let status = rpc::Status { code: code as i32, ..rpc::Status::default() };
    CheckResponse { status: Some(status), http_response: Some(response), ..CheckResponse::default() }
}

// === impl Authz ===

#[tonic::async_trait]
impl Authorization for Authz {
    async fn check(&self, request: Request<CheckRequest>) -> Result<Response<CheckResponse>, Status> {
        let attributes = request.into_inner().attributes;
        let http = attributes.and_then(|attributes| attributes.request?.http);
        let key = http.as_ref().and_then(|http| http.headers.get("api-key"));
        let Some(identity) = key.and_then(|key| self.identities.get(key)) else {
            let status = Some(HttpStatus { code: StatusCode::Unauthorized as i32 });
            let denied = DeniedHttpResponse { status, ..DeniedHttpResponse::default() };
            return Ok(Response::new(answer(Code::Unauthenticated, HttpResponse::DeniedResponse(denied))));
        };
        let header =
            HeaderValue { key: "x-user-id".to_owned(), value: identity.clone(), ..HeaderValue::default() };
        let allowed = OkHttpResponse {
            headers: vec![HeaderValueOption { header: Some(header), ..HeaderValueOption::default() }],
            headers_to_remove: vec!["api-key".to_owned()],
            ..OkHttpResponse::default()
        };
        Ok(Response::new(answer(Code::Ok, HttpResponse::OkResponse(allowed))))
    }
}
